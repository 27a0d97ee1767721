// Package resources reads what the servers serve: the same resources that Fairway does, in a file of encoded
// envoy.service.discovery.v3.Resource messages, each after its length as a varint.
package resources

import (
	"fmt"
	"os"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	// What the resources are made of.
	_ "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// Endpoint is the type whose resources the benches change.
const Endpoint = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

// Type is a type URL as a proxy subscribes to it.
type Type struct {
	URL string
	// Wildcard types are asked for as a whole, the others by names.
	Wildcard bool
}

// Types are in the order in which Envoy comes to ask for them.
var Types = []Type{
	{"type.googleapis.com/envoy.config.cluster.v3.Cluster", true},
	{Endpoint, false},
	{"type.googleapis.com/envoy.config.listener.v3.Listener", true},
	{"type.googleapis.com/envoy.config.route.v3.RouteConfiguration", false},
	{"type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig", false},
}

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

// ByType sorts resources by type URL.
func ByType(all []*discovery.Resource) map[string][]*discovery.Resource {
	sorted := map[string][]*discovery.Resource{}
	for _, resource := range all {
		typeURL := resource.GetResource().GetTypeUrl()
		sorted[typeURL] = append(sorted[typeURL], resource)
	}
	return sorted
}

// Moved is the content of an endpoint resource with its first member at another address.
func Moved(before *endpointv3.ClusterLoadAssignment, address string) *endpointv3.ClusterLoadAssignment {
	after := proto.Clone(before).(*endpointv3.ClusterLoadAssignment)
	after.Endpoints[0].LbEndpoints[0].GetEndpoint().Address.GetSocketAddress().Address = address
	return after
}
