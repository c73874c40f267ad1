package main

import (
	"errors"
	"math/rand/v2"

	"crest/internal/counts"
)

// board is the one board of the file.
const board = "video"

// write writes rows with ascending random keys of 11 characters, and picks those to look for.
func (p *plan) write(rows, keys int, seed uint64) error {
	w, err := counts.Create(p.Path)
	if err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(seed, 0))
	step := ^uint64(0) / uint64(rows)
	key := uint64(0)
	for i := range rows {
		next := uint64(i)*step + r.Uint64N(step-1)
		row := counts.Row{Board: board, Item: text(next), Count: 1 + uint64(3/(r.Float64()+1e-6))}
		if r.IntN(20) == 0 {
			row.Duplicates = 1 + r.Uint64N(3)
		}
		if err := w.Append(row); err != nil {
			return errors.Join(err, w.Abort())
		}
		// One key of each of as many even parts as there are keys, and one between it and the key before.
		if part := i * keys / rows; part == len(p.Present) && r.IntN(rows/keys) == 0 || (i+1)*keys/rows > len(p.Present) {
			p.Present = append(p.Present, row.Item)
			p.Absent = append(p.Absent, text(key+(next-key)/2+1))
		}
		key = next
	}
	p.Info, err = w.Close()
	shuffle := func(s []string) { r.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] }) }
	shuffle(p.Present)
	shuffle(p.Absent)
	return err
}

// text writes a number with 11 characters that ids of videos are made of, in the order of the numbers.
func text(n uint64) string {
	const digits = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
	var b [11]byte
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = digits[n%64]
		n /= 64
	}
	return string(b[:])
}
