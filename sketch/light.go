package sketch

const (
	lineBytes    = 64
	lineWords    = lineBytes / 8
	lightPerLine = lineBytes + 1
	maxWidth     = 3         // cells of 4<<3 bits
	infinite     = 1<<32 - 1 // the largest value of the widest cells
)

// light is a conservative-update Count-Min sketch of the keys that the heavy part doesn't monitor. A key has two cells,
// one in each half of a single line. Each line has cells of its own width: 4 bits at first, 8, 16 or 32 as soon as one of
// them needs it. A value that even 32 bits can't hold is infinite.
type light struct {
	lines [][lineWords]uint64
	width []uint8 // the cells of line i have 4<<width[i] bits
}

// remix derives the bits that choose line and cells, so that neither a shard nor a set narrows the choice.
func remix(hash uint64) uint64 { return (hash ^ hash>>32) * 0x9e37_79b9_7f4a_7c15 }

func (l *light) line(mix uint64) int { return int((mix >> 32) * uint64(len(l.lines)) >> 32) }

// cells are the places of a key's cells in its line, in units of 4 bits.
type cells [2]uint64

// cellsOf returns where the cells of a key are in a line of that width: one in each half of 64 units.
func cellsOf(mix uint64, width uint) cells {
	mask := uint64(63) >> (width & 3) << (width & 3) // wider cells don't use the lowest bits
	return cells{mix >> 10 & mask, 64 | mix>>16&mask}
}

// largest returns the largest value of cells of that width.
func largest(width uint) uint64 { return 1<<(4<<(width&3)) - 1 }

// bound returns the most that a key can have by its cells; all ones when they are all infinite.
func (l *light) bound(mix uint64) uint64 {
	i := l.line(mix)
	line, width := &l.lines[i], uint(l.width[i])
	at, top := cellsOf(mix, width), largest(width)
	least := min(
		line[at[0]>>4&7]>>(at[0]&15*4)&top,
		line[at[1]>>4&7]>>(at[1]&15*4)&top,
	)
	if least == infinite {
		return 1<<64 - 1
	}
	return least
}

// raise makes every cell of a key at least v.
func (l *light) raise(mix, v uint64) {
	i := l.line(mix)
	v = min(v, infinite)
	for v > largest(uint(l.width[i])) {
		l.widen(i)
	}
	line, width := &l.lines[i], uint(l.width[i])
	top := largest(width)
	for _, at := range cellsOf(mix, width) {
		word, shift := &line[at>>4&7], at&15*4
		if *word>>shift&top < v {
			*word = *word&^(top<<shift) | v<<shift
		}
	}
}

// widen merges neighbouring cells of line i by their maximum.
func (l *light) widen(i int) {
	line, width := &l.lines[i], uint(l.width[i])
	bits, top := uint(4)<<width, largest(width)
	for w, narrow := range line {
		wide := uint64(0)
		for shift := uint(0); shift < 64; shift += 2 * bits {
			wide |= max(narrow>>shift&top, narrow>>(shift+bits)&top) << shift
		}
		line[w] = wide
	}
	l.width[i]++
}
