// Command peers holds what the benches of the xDS server measure against and with: `gcp`, a server on
// go-control-plane; `floor`, a server that only broadcasts prepared bytes; `load`, the clients of all of them.
//
// Each is told what to do by lines of JSON on its standard input, answers by lines of JSON on its standard output, and
// ends with its standard input.
package main

import (
	"fmt"
	"os"

	"fairway/bench/peers/floor"
	"fairway/bench/peers/gcp"
	"fairway/bench/peers/load"
)

func main() {
	programs := map[string]func([]string) error{"gcp": gcp.Run, "floor": floor.Run, "load": load.Run}
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: peers gcp|floor|load [flags]")
		os.Exit(2)
	}
	if err := programs[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "peers %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}
