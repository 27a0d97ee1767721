// Package floor is the least that a gRPC server can do for a change: it hands the same prepared message to every
// stream. It keeps nothing of its clients, compares nothing, and is no control plane; what it costs, any server of
// this kind pays.
package floor

import (
	"flag"
	"fmt"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"fairway/bench/peers/console"
	"fairway/bench/peers/resources"
)

type change struct {
	Name    string `json:"name"`
	Address string `json:"address"`
}

type broadcaster struct {
	// first is the whole answer to the first request of a type, encoded.
	first map[string][]byte

	mu      sync.Mutex
	streams map[grpc.ServerStream]struct{}
}

// Run serves until the input ends.
func Run(args []string) error {
	flags := flag.NewFlagSet("floor", flag.ContinueOnError)
	path := flags.String("resources", "", "file of the resources to serve")
	if err := flags.Parse(args); err != nil {
		return err
	}
	found, err := resources.Read(*path)
	if err != nil {
		return err
	}
	b := &broadcaster{first: map[string][]byte{}, streams: map[grpc.ServerStream]struct{}{}}
	assignments := map[string]*discovery.Resource{}
	for typeURL, ofType := range resources.ByType(found) {
		whole := &discovery.DeltaDiscoveryResponse{TypeUrl: typeURL, Nonce: "1", Resources: ofType}
		if b.first[typeURL], err = proto.Marshal(whole); err != nil {
			return err
		}
	}
	for _, resource := range resources.ByType(found)[resources.Endpoint] {
		assignments[resource.Name] = resource
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	grpcServer := grpc.NewServer(grpc.MaxConcurrentStreams(1_000_000), grpc.ForceServerCodecV2(codec{}))
	grpcServer.RegisterService(&grpc.ServiceDesc{
		ServiceName: "envoy.service.discovery.v3.AggregatedDiscoveryService",
		HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{{
			StreamName:    "DeltaAggregatedResources",
			ServerStreams: true,
			ClientStreams: true,
			Handler:       func(_ any, stream grpc.ServerStream) error { return b.serve(stream) },
		}},
	}, b)
	go grpcServer.Serve(listener)
	defer grpcServer.Stop()
	console.Ready(listener.Addr().(*net.TCPAddr).Port)

	return console.Each(func(command change) error {
		resource := assignments[command.Name]
		if resource == nil {
			return fmt.Errorf("there is no assignment %s", command.Name)
		}
		response, err := changed(resource, command.Address)
		if err != nil {
			return err
		}
		return b.broadcast(response)
	})
}

// serve answers the first request of each type and reads the rest.
func (b *broadcaster) serve(stream grpc.ServerStream) error {
	defer func() {
		b.mu.Lock()
		delete(b.streams, stream)
		b.mu.Unlock()
	}()
	answered := map[string]bool{}
	for {
		var request request
		if err := stream.RecvMsg(&request); err != nil {
			return nil
		}
		typeURL := request.typeURL
		if answered[typeURL] {
			continue
		}
		answered[typeURL] = true
		if err := stream.SendMsg(b.first[typeURL]); err != nil {
			return nil
		}
		if typeURL == resources.Endpoint {
			b.mu.Lock()
			b.streams[stream] = struct{}{}
			b.mu.Unlock()
		}
	}
}

func (b *broadcaster) broadcast(response []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var prepared grpc.PreparedMsg
	encoded := false
	for stream := range b.streams {
		if !encoded {
			if err := prepared.Encode(stream, response); err != nil {
				return err
			}
			encoded = true
		}
		// A stream that failed has gone, or goes.
		_ = stream.SendMsg(&prepared)
	}
	return nil
}

func changed(resource *discovery.Resource, address string) ([]byte, error) {
	assignment := &endpointv3.ClusterLoadAssignment{}
	if err := resource.Resource.UnmarshalTo(assignment); err != nil {
		return nil, err
	}
	value, err := anypb.New(resources.Moved(assignment, address))
	if err != nil {
		return nil, err
	}
	return proto.Marshal(&discovery.DeltaDiscoveryResponse{
		TypeUrl:   resources.Endpoint,
		Nonce:     address,
		Resources: []*discovery.Resource{{Name: resource.Name, Version: address, Resource: value}},
	})
}
