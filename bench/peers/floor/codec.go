package floor

import (
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// typeURLField is DeltaDiscoveryRequest.type_url.
const typeURLField = 2

// request is all that the floor reads of a DeltaDiscoveryRequest.
type request struct {
	typeURL string
}

// codec passes prepared bytes through on the way out, and on the way in looks for the type alone.
type codec struct{}

func (codec) Name() string { return "proto" }

func (codec) Marshal(message any) (mem.BufferSlice, error) {
	bytes, ok := message.([]byte)
	if !ok {
		return nil, fmt.Errorf("writing a %T: only prepared bytes are written", message)
	}
	return mem.BufferSlice{mem.SliceBuffer(bytes)}, nil
}

func (codec) Unmarshal(data mem.BufferSlice, message any) error {
	into, ok := message.(*request)
	if !ok {
		return fmt.Errorf("reading a %T: only requests are read", message)
	}
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	for bytes := buffer.ReadOnlyData(); len(bytes) > 0; {
		field, wire, n := protowire.ConsumeTag(bytes)
		if n < 0 {
			return protowire.ParseError(n)
		}
		bytes = bytes[n:]
		size := protowire.ConsumeFieldValue(field, wire, bytes)
		if size < 0 {
			return protowire.ParseError(size)
		}
		if field == typeURLField && wire == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(bytes)
			into.typeURL = string(value)
			return nil
		}
		bytes = bytes[size:]
	}
	return nil
}
