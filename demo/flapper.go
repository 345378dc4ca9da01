package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	upTime   = 20 * time.Second
	downTime = 10 * time.Second
)

// flapper is a TCP proxy that listens for upTime and then, for downTime, does not.
type flapper struct {
	address string
	target  string
	done    sync.WaitGroup
}

// startFlapper starts a proxy in front of target. It ends with ctx; wait waits for it.
func startFlapper(ctx context.Context, target string) (*flapper, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the flapping broker: %w", err)
	}
	f := &flapper{address: l.Addr().String(), target: target}
	f.done.Go(func() { f.run(ctx, l) })
	return f, nil
}

func (f *flapper) wait() { f.done.Wait() }

func (f *flapper) run(ctx context.Context, l net.Listener) {
	for {
		up, cancel := context.WithTimeout(ctx, upTime)
		f.serve(up, l)
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-time.After(downTime):
		}
		next, err := net.Listen("tcp", f.address)
		if err != nil {
			continue // another process took the port; try again after the next pause
		}
		l = next
	}
}

// serve accepts until ctx ends and then cuts every connection.
func (f *flapper) serve(ctx context.Context, l net.Listener) {
	var conns sync.WaitGroup
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for {
		client, err := l.Accept()
		if err != nil {
			break
		}
		conns.Go(func() { f.pipe(ctx, client) })
	}
	conns.Wait()
}

func (f *flapper) pipe(ctx context.Context, client net.Conn) {
	broker, err := new(net.Dialer).DialContext(ctx, "tcp", f.target)
	if err != nil {
		_ = client.Close()
		return
	}
	closeBoth := func() { _ = client.Close(); _ = broker.Close() }
	stop := context.AfterFunc(ctx, closeBoth)
	defer stop()
	var half sync.WaitGroup
	half.Go(func() { defer closeBoth(); _, _ = io.Copy(broker, client) })
	half.Go(func() { defer closeBoth(); _, _ = io.Copy(client, broker) })
	half.Wait()
}
