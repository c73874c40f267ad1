package sketch

const (
	lineBytes    = 64
	lineWords    = lineBytes / 8
	maxWidth     = 2 // cells of 8<<2 bits
	lightPerLine = lineBytes + 1
)

// light is a conservative-update Count-Min sketch of the keys that the heavy part doesn't monitor. A key has four cells,
// one in each quarter of a single line. Each line has cells of its own width: 8, 16 or 32 bits. A cell at its largest
// value stands for infinity.
type light struct {
	lines [][lineWords]uint64
	width []uint8 // the cells of line i have 8<<width[i] bits
}

// remix derives the bits that choose line and cells, so that neither a shard nor a set narrows the choice.
func remix(hash uint64) uint64 { return (hash ^ hash>>32) * 0x9e37_79b9_7f4a_7c15 }

func (l *light) line(mix uint64) int { return int((mix >> 32) * uint64(len(l.lines)) >> 32) }

// cell returns where the cell of quarter q is: the word of the line, and the shift within it.
func cell(mix uint64, q, width uint) (word, shift uint) {
	at := uint(mix>>(12+4*q)) & 15 >> width << width
	return (2*q + at>>3) & (lineWords - 1), at & 7 * 8
}

func largest(width uint) uint64 { return 1<<(8<<width) - 1 }

// bound returns the most that a key can have by its cells; infinite (all ones) when they are all saturated.
func (l *light) bound(mix uint64) uint64 {
	i := l.line(mix)
	line, width := &l.lines[i], uint(l.width[i])
	top := largest(width)
	least := top
	for q := range uint(4) {
		word, shift := cell(mix, q, width)
		least = min(least, line[word]>>shift&top)
	}
	if least == top {
		return 1<<64 - 1
	}
	return least
}

// raise makes every cell of a key at least v. No absent key may have more than cutoff, that which is raised aside.
func (l *light) raise(mix, v, cutoff uint64) {
	i := l.line(mix)
	line := &l.lines[i]
	for v >= largest(uint(l.width[i])) && l.width[i] < maxWidth {
		l.widen(i, cutoff)
	}
	width := uint(l.width[i])
	top := largest(width)
	v = min(v, top)
	for q := range uint(4) {
		word, shift := cell(mix, q, width)
		if line[word]>>shift&top < v {
			line[word] = line[word]&^(top<<shift) | v<<shift
		}
	}
}

// widen merges neighbouring cells of line i by their maximum. What was infinite becomes cutoff.
func (l *light) widen(i int, cutoff uint64) {
	line, width := &l.lines[i], uint(l.width[i])
	bits := uint(8) << width
	oldTop, newTop := largest(width), largest(width+1)
	for w, old := range line {
		wide := uint64(0)
		for shift := uint(0); shift < 64; shift += 2 * bits {
			v := max(old>>shift&oldTop, old>>(shift+bits)&oldTop)
			if v == oldTop {
				v = min(max(v, cutoff), newTop)
			}
			wide |= v << shift
		}
		line[w] = wide
	}
	l.width[i]++
}
