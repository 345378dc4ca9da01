//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/dashboards"
)

// album is what the dashboards have shown so far. With E2E_PICTURES=FOLDER each look is written there, for
// dashboards/pictures/draw.py to draw.
type album struct {
	t      *testing.T
	p      *prometheus
	began  time.Time
	filled map[string]bool // by dashboard and panel, whether it ever showed anything
}

// empty are the panels that this cluster has nothing for.
var empty = map[string]string{
	"broker.json Addresses of its name": "the names of the brokers have one address",
}

// chosen are the brokers that somebody would look at.
var chosen = map[string]string{"overview.json": ".*", "broker.json": "2"}

type boardPanel struct {
	Title   string
	Type    string
	Targets []struct{ Expr, LegendFormat string }
	raw     json.RawMessage
}

// shot is a panel and what its queries found.
type shot struct {
	Panel   json.RawMessage   `json:"panel"`
	Results []json.RawMessage `json:"results"`
}

// look asks every query of both dashboards, as Grafana would for the time since the album began.
func (a *album) look(name string) {
	a.t.Helper()
	now := time.Now()
	for file, text := range dashboards.Files() {
		var shots []shot
		for _, panel := range panelsOf(a.t, text) {
			s := shot{Panel: panel.raw}
			for _, target := range panel.Targets {
				found := a.ask(panel.Type, strings.ReplaceAll(target.Expr, "$broker", chosen[file]), now)
				s.Results = append(s.Results, found)
				key := file + " " + panel.Title
				a.filled[key] = a.filled[key] || string(found) != "[]"
			}
			shots = append(shots, s)
		}
		a.keep(name+"-"+file, shots)
	}
}

func panelsOf(t *testing.T, text []byte) []boardPanel {
	t.Helper()
	var board struct{ Panels []json.RawMessage }
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	all := make([]boardPanel, len(board.Panels))
	for i, raw := range board.Panels {
		if err := json.Unmarshal(raw, &all[i]); err != nil {
			t.Fatal(err)
		}
		all[i].raw = raw
	}
	return all
}

// ask asks for the moment where a panel shows a table, and else for the range.
func (a *album) ask(kind, expr string, now time.Time) json.RawMessage {
	a.t.Helper()
	took := fmt.Sprintf("%ds", int(now.Sub(a.began).Seconds())+1)
	expr = strings.NewReplacer("$__rate_interval", "10s", "$__range", took, "$__interval", "1s", "$job", ".*", "$instance", ".*", "$kafka_cluster", "main|elsewhere").Replace(expr)
	path := "/api/v1/query?query=" + url.QueryEscape(expr)
	if kind != "table" {
		path = fmt.Sprintf("/api/v1/query_range?query=%s&start=%d&end=%d&step=1", url.QueryEscape(expr), a.began.Unix(), now.Unix())
	}
	var found json.RawMessage
	if err := a.p.get(path, &found); err != nil {
		a.t.Errorf("%s: %v", expr, err)
		return json.RawMessage("[]")
	}
	return found
}

func (a *album) keep(name string, shots []shot) {
	a.t.Helper()
	folder := os.Getenv("E2E_PICTURES")
	if folder == "" {
		return
	}
	text, err := json.Marshal(shots)
	if err := errors.Join(err, os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, name), text, 0o644)); err != nil {
		a.t.Error(err)
	}
}

// wantAllFilled asserts that every panel has shown something at some time.
func (a *album) wantAllFilled() {
	a.t.Helper()
	for key, filled := range a.filled {
		if why := empty[key]; filled == (why != "") {
			a.t.Errorf("%s: showed something: %v; it should not, because: %q", key, filled, why)
		}
	}
	if len(a.filled) < 30 {
		a.t.Errorf("only %d panels", len(a.filled))
	}
}
