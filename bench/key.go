package bench

// keyBytes is the length of a key: eleven characters, as a video id of a large site has.
const keyBytes = 11

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// appendKey appends the key of an id. Neighbouring ids get keys that have nothing in common, and every id another key.
func appendKey(dst []byte, id uint32) []byte {
	x := scramble(uint64(id))
	for range keyBytes {
		dst = append(dst, alphabet[x&63])
		x >>= 6
	}
	return dst
}

// keyID returns the id whose key this is; ok is false when no id has it.
func keyID(key string) (id uint32, ok bool) {
	if len(key) != keyBytes {
		return 0, false
	}
	var x uint64
	for i := keyBytes - 1; i >= 0; i-- {
		digit, ok := digitOf(key[i])
		if !ok {
			return 0, false
		}
		x = x<<6 | digit
	}
	x = unscramble(x)
	return uint32(x), x>>32 == 0
}

func digitOf(c byte) (uint64, bool) {
	switch {
	case c >= 'A' && c <= 'Z':
		return uint64(c - 'A'), true
	case c >= 'a' && c <= 'z':
		return uint64(c-'a') + 26, true
	case c >= '0' && c <= '9':
		return uint64(c-'0') + 52, true
	case c == '-':
		return 62, true
	case c == '_':
		return 63, true
	}
	return 0, false
}

const (
	oddFactor   = 0x9e3779b97f4a7c15 // 2^64 / golden ratio
	oddInverted = 0xf1de83e19937733d // its inverse modulo 2^64
)

// scramble is a bijection of 64-bit numbers without visible pattern.
func scramble(x uint64) uint64 {
	x *= oddFactor
	x ^= x >> 32
	x *= oddFactor
	x ^= x >> 32
	return x
}

func unscramble(x uint64) uint64 {
	x ^= x >> 32
	x *= oddInverted
	x ^= x >> 32
	x *= oddInverted
	return x
}
