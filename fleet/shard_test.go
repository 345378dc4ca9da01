package fleet

import (
	"strconv"
	"testing"
)

// TestShards: all get their part, and one more shard moves no more than it gets.
func TestShards(t *testing.T) {
	const clusters = 10_000
	for total := 1; total <= 8; total++ {
		counts := make([]int, total+1)
		moved := 0
		for i := range clusters {
			name := "cluster-" + strconv.Itoa(i)
			before, after := Shard(name, total), Shard(name, total+1)
			counts[after]++
			if before != after {
				moved++
				if after != total {
					t.Fatalf("%s moved from %d to %d", name, before, after)
				}
			}
		}
		for shard, n := range counts {
			if fair := clusters / (total + 1); n < fair*9/10 || n > fair*11/10 {
				t.Errorf("shard %d of %d has %d clusters, fair are %d", shard, total+1, n, fair)
			}
		}
		if moved != counts[total] {
			t.Errorf("%d moved to the new shard, which has %d", moved, counts[total])
		}
	}
}

// TestShardsAreForEver: an upgrade must not move anything.
func TestShardsAreForEver(t *testing.T) {
	for name, want := range map[string]int{"main": 4, "audit": 1, "": 1, "größe": 0} {
		if got := Shard(name, 5); got != want {
			t.Errorf("%q is of shard %d of 5, was of %d", name, got, want)
		}
	}
}
