package load

import (
	"fmt"

	"fairway/bench/peers/resources"
)

// stream is a proxy: it asks for all clusters, then for the endpoints of each by name, and acknowledges everything.
type stream struct {
	index      int
	client     *client
	connection *connection
	id         uint32
	// returning streams say what they have and wait for nothing.
	returning bool
	reader    reader

	// unsent are bytes that the windows hold back.
	unsent   []byte
	window   int64
	received int64

	clusters  holding
	endpoints holding
	filled    bool
	arrivals  []arrival
}

// holding is what came of a type.
type holding struct {
	resources int
	messages  int
	bytes     int
}

// arrival is a change that came, by its number, and when it was acknowledged.
type arrival struct {
	change int
	at     int64
}

func newStream(client *client, index int, returning bool) *stream {
	s := &stream{index: index, client: client, returning: returning}
	// The versions that a stream returns with are the same for all: one of them is enough to know them.
	s.reader.capture = index == 0 && !returning
	return s
}

// first gives the bytes that a stream begins with.
func (s *stream) first() []byte {
	node := node(fmt.Sprintf("node-%d", s.index), s.client.options.cluster)
	if !s.returning {
		return request(node, resources.Cluster, nil, nil)
	}
	known := &s.client.known
	clusters := request(node, resources.Cluster, nil, known.clusters.initial())
	return append(clusters, request(nil, resources.Endpoint, nil,
		append(subscription(s.client.names), known.endpoints.initial()...))...)
}

// take reads data and answers every message that it completes. The connection's mu is held.
func (s *stream) take(data []byte) {
	s.reader.take(data, func(response response, message []byte) {
		switch string(response.typeURL) {
		case resources.Cluster:
			s.takeClusters(response, message)
		case resources.Endpoint:
			s.takeEndpoints(response, message)
		default:
			s.client.fail(fmt.Errorf("a response of type %q", response.typeURL))
		}
	})
}

func (s *stream) takeClusters(response response, message []byte) {
	s.connection.send(s, request(nil, resources.Cluster, response.nonce, nil))
	before := s.clusters.resources
	s.clusters.add(response)
	if s.reader.capture {
		s.client.known.clusters.add(message)
	}
	if !s.returning && before < len(s.client.names) && s.clusters.resources >= len(s.client.names) {
		s.connection.send(s, request(nil, resources.Endpoint, nil, s.client.subscription))
	}
}

func (s *stream) takeEndpoints(response response, message []byte) {
	s.connection.send(s, request(nil, resources.Endpoint, response.nonce, nil))
	now := s.client.now()
	s.endpoints.add(response)
	if s.reader.capture {
		s.client.known.endpoints.add(message)
	}
	if s.filled {
		marks(message, func(change int) {
			s.arrivals = append(s.arrivals, arrival{change, now})
			s.client.arrived(change, now)
		})
		return
	}
	if !s.returning && s.endpoints.resources >= len(s.client.names) {
		s.filled = true
		s.reader.capture = false
		s.client.streamFilled(now)
	}
}

func (h *holding) add(response response) {
	h.resources += response.resources
	h.messages++
	h.bytes += response.size
}

// versions are names of a type, each with the version that a client has.
type versions struct {
	names    []string
	versions []string
}

func (v *versions) add(message []byte) {
	names, versions := versionsOf(message)
	v.names = append(v.names, names...)
	v.versions = append(v.versions, versions...)
}

func (v *versions) initial() []byte {
	return initialVersions(v.names, v.versions)
}
