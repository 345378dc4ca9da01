package manager

import (
	"context"
	"errors"
	"time"

	"kafka_connection_exporter/wire"
)

// Gate is who may authenticate, for those who dial without a Manager: SASL exchanges take turns, and a definite rejection holds
// all others back, so that one wrong password is one attempt.
type Gate struct{ gate *gate }

// NewGate returns a gate that holds back for interval after a rejection, or until version, which may be nil, returns something
// else.
func NewGate(interval time.Duration, version func() string) *Gate {
	return &Gate{newGate(interval, version)}
}

// Run lets exchanges through until ctx ends; afterwards nobody may authenticate. It runs once.
func (g *Gate) Run(ctx context.Context) { g.gate.run(ctx) }

// TurnOf returns what a target of this name asks for its turn: see wire.Dialer.Turn.
func (g *Gate) TurnOf(name string) func(context.Context, *wire.Conn) (func(error), error) {
	return g.gate.turnOf(name)
}

// HeldBack says whether err only means that others have rejected the credentials, so that they were not shown.
func HeldBack(err error) bool { return errors.Is(err, errHeldBack) }
