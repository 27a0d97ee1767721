// Package gcp is a delta ADS server made of go-control-plane's parts as its users put them together: a linear cache
// for each type, behind a mux.
package gcp

import (
	"context"
	"flag"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"

	"fairway/bench/peers/console"
	"fairway/bench/peers/resources"
)

// maxStreams is what go-control-plane's own example allows on a connection.
const maxStreams = 1_000_000

type change struct {
	// Name of the assignment whose first member moves to Address.
	Name    string `json:"name"`
	Address string `json:"address"`
}

// Run serves until the input ends.
func Run(args []string) error {
	flags := flag.NewFlagSet("gcp", flag.ContinueOnError)
	path := flags.String("resources", "", "file of the resources to serve")
	if err := flags.Parse(args); err != nil {
		return err
	}
	found, err := resources.Read(*path)
	if err != nil {
		return err
	}
	caches := map[string]cache.Cache{}
	var endpoints *cache.LinearCache
	for typeURL, ofType := range resources.ByType(found) {
		contents := map[string]types.Resource{}
		for _, resource := range ofType {
			if contents[resource.Name], err = resource.Resource.UnmarshalNew(); err != nil {
				return err
			}
		}
		linear := cache.NewLinearCache(typeURL, cache.WithInitialResources(contents))
		caches[typeURL] = linear
		if typeURL == resources.Endpoint {
			endpoints = linear
		}
	}
	mux := &cache.MuxCache{
		Classify:      func(request *cache.Request) string { return request.GetTypeUrl() },
		ClassifyDelta: func(request *cache.DeltaRequest) string { return request.GetTypeUrl() },
		Caches:        caches,
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	grpcServer := grpc.NewServer(
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 5 * time.Second}),
	)
	discovery.RegisterAggregatedDiscoveryServiceServer(
		grpcServer, server.NewServer(context.Background(), mux, nil))
	go grpcServer.Serve(listener)
	defer grpcServer.Stop()
	console.Ready(listener.Addr().(*net.TCPAddr).Port)

	return console.Each(func(command change) error {
		before, ok := endpoints.GetResources()[command.Name].(*endpointv3.ClusterLoadAssignment)
		if !ok {
			return fmt.Errorf("there is no assignment %s", command.Name)
		}
		return endpoints.UpdateResource(command.Name, resources.Moved(before, command.Address))
	})
}
