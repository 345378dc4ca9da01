package manager

import "time"

// maxExponent keeps the doubling far from an overflow; any realistic cap is reached long before.
const maxExponent = 30

// backoff returns the wait before attempt number failures+1: base doubled with every failure after the first, at most
// limit, and then moved by up to 20 % either way by random, a number in [0, 1). Jitter comes after the cap, so that a
// fleet at its cap stays spread.
func backoff(base, limit time.Duration, failures int, random float64) time.Duration {
	exponent := min(max(failures-1, 0), maxExponent)
	wait := limit
	if base <= limit>>exponent {
		wait = base << exponent
	}
	return jitter(wait, 0.8, 1.2, random)
}

// jitter returns d times a factor between low and high; random, a number in [0, 1), chooses it.
func jitter(d time.Duration, low, high, random float64) time.Duration {
	return time.Duration(float64(d) * (low + (high-low)*random))
}
