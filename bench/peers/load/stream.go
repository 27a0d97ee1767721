package load

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"fairway/bench/peers/resources"
)

// stream is a proxy: it asks for one type after another as Envoy does, and acknowledges everything.
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

	// got is what came, by type in the order of the client's.
	got []amount
	// asked is how many types were asked for.
	asked    int
	filled   bool
	arrivals []arrival
}

// amount of what came of a type.
type amount struct {
	resources int
	bytes     int
}

// arrival is a change that came, by its number, and when it was acknowledged.
type arrival struct {
	change int
	at     int64
}

// subscribed is a type that all streams ask for.
type subscribed struct {
	url string
	// request is the part of the first request that says what is asked for.
	request []byte
	// resources is how many there are.
	resources int
	// versions, by name, that a stream has after its first fill.
	names    []string
	versions []string
}

func newSubscribed(of resources.Type, found []*discovery.Resource) *subscribed {
	s := &subscribed{url: of.URL, resources: len(found)}
	if of.Wildcard {
		return s
	}
	for _, resource := range found {
		s.request = protowire.AppendTag(s.request, requestSubscribe, protowire.BytesType)
		s.request = protowire.AppendString(s.request, resource.Name)
	}
	return s
}

func newStream(client *client, index int, returning bool) *stream {
	s := &stream{index: index, client: client, returning: returning, got: make([]amount, len(client.types))}
	// The versions that a stream returns with are the same for all: one of them is enough to know them.
	s.reader.capture = index == 0 && !returning
	return s
}

// first gives the bytes that a stream begins with.
func (s *stream) first() []byte {
	node := node(fmt.Sprintf("node-%d", s.index), s.client.options.cluster)
	if !s.returning {
		s.asked = 1
		return request(node, s.client.types[0].url, nil, s.client.types[0].request)
	}
	var bytes []byte
	for _, t := range s.client.types {
		had := initialVersions(t.names, t.versions)
		bytes = append(bytes, request(node, t.url, nil, append(had, t.request...))...)
		node = nil
	}
	return bytes
}

// take reads data and answers every message that it completes. The connection's mu is held.
func (s *stream) take(data []byte) {
	s.reader.take(data, func(response response, message []byte) {
		at := s.client.indexOf(response.typeURL)
		if at < 0 {
			s.client.fail(fmt.Errorf("a response of type %q", response.typeURL))
			return
		}
		t := s.client.types[at]
		s.connection.send(s, request(nil, t.url, response.nonce, nil))
		now := s.client.now()
		s.got[at].resources += response.resources
		s.got[at].bytes += response.size
		if s.filled {
			marks(message, func(change int) {
				s.arrivals = append(s.arrivals, arrival{change, now})
				s.client.arrived(change, now)
			})
			return
		}
		if s.reader.capture {
			names, versions := versionsOf(message)
			t.names = append(t.names, names...)
			t.versions = append(t.versions, versions...)
		}
		if !s.returning && s.got[s.asked-1].resources >= s.client.types[s.asked-1].resources {
			s.proceed(now)
		}
	})
}

// proceed asks for the next type, when the one asked for before is complete.
func (s *stream) proceed(now int64) {
	if s.asked == len(s.client.types) {
		s.filled = true
		s.reader.capture = false
		s.client.streamFilled(now)
		return
	}
	next := s.client.types[s.asked]
	s.asked++
	s.connection.send(s, request(nil, next.url, nil, next.request))
}
