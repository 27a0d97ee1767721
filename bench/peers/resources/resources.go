// Package resources reads what the servers serve: the same resources that Fairway does, in a file of encoded
// envoy.service.discovery.v3.Resource messages, each after its length as a varint.
package resources

import (
	"fmt"
	"os"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// Types that the benches ask for.
const (
	Cluster  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	Endpoint = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
)

// Read gives the resources of a file.
func Read(path string) ([]*discovery.Resource, error) {
	bytes, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var found []*discovery.Resource
	for len(bytes) > 0 {
		message, n := protowire.ConsumeBytes(bytes)
		if n < 0 {
			return nil, fmt.Errorf("reading %s: %w", path, protowire.ParseError(n))
		}
		resource := &discovery.Resource{}
		if err := proto.Unmarshal(message, resource); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		found = append(found, resource)
		bytes = bytes[n:]
	}
	return found, nil
}
