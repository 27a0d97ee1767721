package load

import (
	"bytes"
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of envoy.service.discovery.v3.DeltaDiscoveryResponse and DeltaDiscoveryRequest.
const (
	responseResources = 2
	responseType      = 4
	responseNonce     = 5

	requestNode      = 1
	requestType      = 2
	requestSubscribe = 3
	requestVersions  = 5
	requestNonce     = 6
)

// response is what a client reads of a response: resources are counted, not looked into.
type response struct {
	typeURL   []byte
	nonce     []byte
	resources int
	size      int
}

// reader takes a gRPC message in whatever pieces HTTP/2 brings it and reads the outer fields. Small messages and
// captured ones are kept whole; of large ones the resources are passed over, so that a thousand first fills at once
// do not need a thousand times their size in memory.
type reader struct {
	// capture keeps every message whole.
	capture bool

	header  [5]byte
	headerN int
	// left of the message that is being read.
	left int
	// whole is the message so far, when it is kept.
	keep  bool
	whole []byte
	// state of the parse of a message that is not kept.
	field   []byte
	skip    int
	reading response
}

// keepBytes is the size up to which a message is kept whole.
const keepBytes = 128 * 1024

// take hands every message that the bytes complete to done, with the bytes of the message when they were kept.
func (r *reader) take(data []byte, done func(response, []byte)) {
	for len(data) > 0 {
		if r.headerN < len(r.header) {
			n := copy(r.header[r.headerN:], data)
			r.headerN += n
			data = data[n:]
			if r.headerN < len(r.header) {
				return
			}
			r.left = int(binary.BigEndian.Uint32(r.header[1:]))
			r.keep = r.capture || r.left <= keepBytes
			r.reading = response{size: r.left}
		}
		n := min(r.left, len(data))
		piece := data[:n]
		data = data[n:]
		r.left -= n
		if r.keep && r.left == 0 && len(r.whole) == 0 {
			// All at once, the usual case: nothing is copied.
			r.headerN = 0
			done(parse(piece), piece)
			continue
		}
		if r.keep {
			r.whole = append(r.whole, piece...)
		} else {
			r.pass(piece)
		}
		if r.left > 0 {
			return
		}
		r.headerN = 0
		if r.keep {
			whole := r.whole
			r.whole = nil
			done(parse(whole), whole)
		} else {
			done(r.reading, nil)
		}
	}
}

// pass reads a piece of a message that is not kept.
func (r *reader) pass(piece []byte) {
	for len(piece) > 0 {
		if r.skip > 0 {
			n := min(r.skip, len(piece))
			r.skip -= n
			piece = piece[n:]
			continue
		}
		r.field = append(r.field, piece[0])
		piece = piece[1:]
		field, wire, n := protowire.ConsumeTag(r.field)
		if n < 0 || wire != protowire.BytesType {
			continue
		}
		size, m := protowire.ConsumeVarint(r.field[n:])
		if m < 0 {
			continue
		}
		if field == responseType || field == responseNonce {
			if len(r.field) < n+m+int(size) {
				continue
			}
			value := bytes.Clone(r.field[n+m:])
			if field == responseType {
				r.reading.typeURL = value
			} else {
				r.reading.nonce = value
			}
		} else {
			if field == responseResources {
				r.reading.resources++
			}
			r.skip = int(size)
		}
		r.field = r.field[:0]
	}
}

// parse reads a whole message; the values are parts of it.
func parse(message []byte) response {
	read := response{size: len(message)}
	for len(message) > 0 {
		field, wire, n := protowire.ConsumeTag(message)
		if n < 0 {
			break
		}
		message = message[n:]
		size := protowire.ConsumeFieldValue(field, wire, message)
		if size < 0 {
			break
		}
		if wire == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			switch field {
			case responseResources:
				read.resources++
			case responseType:
				read.typeURL = value
			case responseNonce:
				read.nonce = value
			}
		}
		message = message[size:]
	}
	return read
}

// versionsOf gives name and version of each resource of a response, in order.
func versionsOf(message []byte) (names, versions []string) {
	each(message, func(field protowire.Number, resource []byte) {
		if field != responseResources {
			return
		}
		var name, version string
		each(resource, func(field protowire.Number, value []byte) {
			switch field {
			case 1:
				version = string(value)
			case 3:
				name = string(value)
			}
		})
		names = append(names, name)
		versions = append(versions, version)
	})
	return names, versions
}

// each visits the length-delimited fields of a message.
func each(message []byte, visit func(protowire.Number, []byte)) {
	for len(message) > 0 {
		field, wire, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		message = message[n:]
		size := protowire.ConsumeFieldValue(field, wire, message)
		if size < 0 {
			return
		}
		if wire == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			visit(field, value)
		}
		message = message[size:]
	}
}

// request builds a DeltaDiscoveryRequest with the five bytes that gRPC puts before it.
func request(node []byte, typeURL string, nonce []byte, rest []byte) []byte {
	built := make([]byte, 5, 5+len(node)+len(typeURL)+len(nonce)+len(rest)+16)
	if node != nil {
		built = protowire.AppendTag(built, requestNode, protowire.BytesType)
		built = protowire.AppendBytes(built, node)
	}
	built = protowire.AppendTag(built, requestType, protowire.BytesType)
	built = protowire.AppendString(built, typeURL)
	if nonce != nil {
		built = protowire.AppendTag(built, requestNonce, protowire.BytesType)
		built = protowire.AppendBytes(built, nonce)
	}
	built = append(built, rest...)
	binary.BigEndian.PutUint32(built[1:], uint32(len(built)-5))
	return built
}

// initialVersions encodes what a client that returns has.
func initialVersions(names, versions []string) []byte {
	var built, entry []byte
	for i, name := range names {
		entry = protowire.AppendTag(entry[:0], 1, protowire.BytesType)
		entry = protowire.AppendString(entry, name)
		entry = protowire.AppendTag(entry, 2, protowire.BytesType)
		entry = protowire.AppendString(entry, versions[i])
		built = protowire.AppendTag(built, requestVersions, protowire.BytesType)
		built = protowire.AppendBytes(built, entry)
	}
	return built
}

// node encodes an envoy.config.core.v3.Node.
func node(id, cluster string) []byte {
	built := protowire.AppendTag(nil, 1, protowire.BytesType)
	built = protowire.AppendString(built, id)
	built = protowire.AppendTag(built, 2, protowire.BytesType)
	return protowire.AppendString(built, cluster)
}

// Each change moves a member to an address of this network that says which change it was: 100.64 and 22 bits.
var markPrefix = []byte("100.")

// marks visits the numbers of the changes whose addresses stand in a message.
func marks(message []byte, visit func(int)) {
	for {
		at := bytes.Index(message, markPrefix)
		if at < 0 {
			return
		}
		message = message[at+len(markPrefix):]
		var octets [3]int
		i, ok := 0, true
		for octet := 0; octet < 3 && ok; octet++ {
			digits := 0
			for ; i < len(message) && message[i] >= '0' && message[i] <= '9' && digits < 3; i++ {
				octets[octet] = octets[octet]*10 + int(message[i]-'0')
				digits++
			}
			ok = digits > 0 && (octet == 2 || i < len(message) && message[i] == '.')
			i++
		}
		if ok && octets[0] >= 64 && octets[0] < 128 {
			visit((octets[0]-64)<<16 | octets[1]<<8 | octets[2])
		}
	}
}
