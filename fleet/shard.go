package fleet

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
)

// Shard returns which of total shards a cluster belongs to, from 0: the one with the highest hash of both names (rendezvous
// hashing), so that one more shard moves only what it gets itself. The answer is the same in every process and release.
func Shard(name string, total int) (shard int) {
	var highest uint64
	for i := range total {
		sum := sha256.Sum256([]byte(strconv.Itoa(i) + "\x00" + name))
		if h := binary.BigEndian.Uint64(sum[:]); i == 0 || h > highest {
			shard, highest = i, h
		}
	}
	return shard
}
