package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"crest"
	"crest/internal/config"
	"crest/proto/eventpb"
)

// Config says what is simulated.
type Config struct {
	Dir         string // data directories are made in it
	Node        config.Config
	Start       time.Time     // a multiple of Step
	Length      time.Duration // likewise
	Step        time.Duration // the shortest refresh of the configuration's windows, or a multiple of it
	Events      int           // about
	Mix         Mix
	Seed        uint64
	Quiet       []Span // without traffic
	RecountDown []Span // without recounts
	Restarts    int    // between random requests: a stop and a crash in turn
	Progress    func(Progress)
}

// Span is a part of the simulated time.
type Span struct{ From, To time.Time }

func (s Span) has(t time.Time) bool { return !t.Before(s.From) && t.Before(s.To) }

// Progress tells how far a run is.
type Progress struct {
	At         time.Time
	Events     int
	Lists      int
	Violations int
}

// Result is what came of a run.
type Result struct {
	Data        string // the data directory at the end
	Events      int    // sent, copies included
	Copies      int
	Repeats     int            // copies that came after the dedup horizon
	Crossed     int            // copies in another hour than the first, near the boundary
	Late        int            // sent more than 10 s after they happened
	Lists       int            // checked
	Entries     int            // checked
	Lacking     map[string]int // lists that lack an item of the true top 100, per window
	MostLacking int            // how many items one lacked
	Stitched    int            // of the lists, with an exact part
	LargestSeam uint64         // the largest max_overcount of those
	Counts      int            // of hours
	Again       int            // of these, of hours that had been counted before
	Until       crest.Millis
	Stops       int
	Crashes     int
	Violations  int
	First       []string // descriptions of the first violations
	Start, End  crest.Millis
	Last        []*crest.List // the newest list of each board and window
	Truth       *Truth
}

const maxDescribed = 20

// posts is how many requests a step is sent in.
const posts = 5

// point is a moment within a step: after a request of it.
type point struct {
	from crest.Millis // start of the step
	post int
}

// run is a simulation under way.
type run struct {
	Config

	clock    *Clock
	random   *rand.Rand
	traffic  *traffic
	truth    *Truth
	shelf    *shelf
	node     *node
	rate     float64 // events a step on average
	owed     float64
	restarts []point
	dirs     int
	body     []byte
	result   Result
	wrongs   chan string

	earliest crest.Millis // hour that anything was sent for
	until    crest.Millis // of the exact counts
	cut      cuts         // of their hours
}

// Run simulates. Its error is of what kept it from going on; broken rules are in the result.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	start, step := crest.MillisOf(cfg.Start), crest.Millis(cfg.Step/time.Millisecond)
	if step <= 0 || start%step != 0 || cfg.Length%cfg.Step != 0 {
		return nil, errors.New("start and length have to be multiples of the step")
	}
	r := &run{Config: cfg, clock: NewClock(start), random: rand.New(rand.NewPCG(cfg.Seed, 2)), shelf: newShelf(), wrongs: make(chan string, 1<<16)}
	r.result.Lacking = map[string]int{}
	r.earliest = start.Floor(time.Hour)
	r.cut = func(crest.Millis) crest.Millis { return 0 }
	var err error
	if r.traffic, err = newTraffic(&cfg.Node, cfg.Mix, start, cfg.Seed); err != nil {
		return nil, err
	}
	r.truth = newTruth(&cfg.Node, r.traffic.kinds)
	r.plan(start, step)
	r.Node.Data = r.nextDir()
	if err := r.startNode(); err != nil {
		return nil, err
	}
	err = r.steps(ctx, start, step)
	r.noteCounts()
	if err == nil {
		err = r.node.stop()
	}
	r.collect()
	r.result.Start, r.result.Last = start, r.shelf.all()
	r.result.Data, r.result.Truth = r.Node.Data, r.truth
	return &r.result, err
}

// noteCounts takes over what the node has counted, which it forgets when it ends.
func (r *run) noteCounts() {
	if x := r.node.exact; x != nil {
		r.result.Counts += x.counts
		r.result.Again += x.again
		r.result.Until = x.runner.Exact().Reach().Until
	}
}

// plan works out the rate and draws when to restart.
func (r *run) plan(start, step crest.Millis) {
	sum := 0.0
	for t := start; t < start.Add(r.Length); t += step {
		sum += r.curve(t)
	}
	r.rate = float64(r.Events) / max(sum, 1)
	for range r.Restarts {
		from := start + step*crest.Millis(2+r.random.Int64N(int64(r.Length/r.Step)-2))
		r.restarts = append(r.restarts, point{from, r.random.IntN(posts)})
	}
	slices.SortFunc(r.restarts, func(a, b point) int { return cmp.Compare(a.from, b.from) })
}

func (r *run) curve(t crest.Millis) float64 {
	if slices.ContainsFunc(r.Quiet, func(s Span) bool { return s.has(t.Time()) }) {
		return 0
	}
	return dayCurve(t)
}

func (r *run) nextDir() string {
	r.dirs++
	return filepath.Join(r.Dir, "node"+strconv.Itoa(r.dirs))
}

func (r *run) wrong(format string, args ...any) {
	select {
	case r.wrongs <- fmt.Sprintf(format, args...):
	default:
	}
}

// collect moves what was wrong into the result.
func (r *run) collect() {
	for {
		select {
		case text := <-r.wrongs:
			r.result.Violations++
			if len(r.result.First) < maxDescribed {
				r.result.First = append(r.result.First, text)
			}
		default:
			return
		}
	}
}

func (r *run) startNode() error {
	var err error
	if r.node, err = startNode(&r.Node, r.clock, r.shelf, r.wrong); err != nil {
		return fmt.Errorf("start a node: %w", err)
	}
	return nil
}

// steps goes through the simulated time.
func (r *run) steps(ctx context.Context, start, step crest.Millis) error {
	for t := start + step; t <= start.Add(r.Length); t += step {
		if err := r.send(ctx, t-step, t); err != nil {
			return fmt.Errorf("at %s: %w", t.Time(), err)
		}
		if err := r.node.settle(ctx, t); err != nil {
			return err
		}
		if err := r.lists(ctx, t, t == start+step); err != nil {
			return err
		}
		if err := r.recount(ctx, t); err != nil {
			return err
		}
		if err := r.node.retain(t); err != nil {
			return err
		}
		r.result.End = t
		if r.Progress != nil && t%crest.Millis(time.Hour/time.Millisecond) == 0 {
			r.Progress(Progress{At: t.Time(), Events: r.result.Events, Lists: r.result.Lists, Violations: r.result.Violations})
		}
	}
	return nil
}

// recount has done what is due at a moment, unless the recount is down.
func (r *run) recount(ctx context.Context, t crest.Millis) error {
	if r.node.exact == nil || t != t.Floor(crest.Slot) {
		return nil
	}
	if err := r.node.archived(ctx, t); err != nil {
		return err
	}
	if slices.ContainsFunc(r.RecountDown, func(s Span) bool { return s.has(t.Time()) }) {
		return nil
	}
	if err := r.node.exact.runner.CatchUp(ctx); err != nil {
		return fmt.Errorf("recount: %w", err)
	}
	reach := r.node.exact.runner.Exact().Reach()
	if reach.Until > 0 && reach.First < r.earliest {
		r.wrong("the recount at %s says that the first hour is %s, but nothing was sent for hours before %s", t.Time(), reach.First.Time(), r.earliest.Time())
	}
	if reach.Until < r.until {
		r.wrong("the recount at %s goes back to %s, from %s", t.Time(), reach.Until.Time(), r.until.Time())
	}
	r.until, r.cut = reach.Until, r.node.exact.cuts()
	return nil
}

// send posts what is received in [from, to).
func (r *run) send(ctx context.Context, from, to crest.Millis) error {
	r.owed += r.curve(from) * r.rate
	for i := range posts {
		at := from + (to-from)*crest.Millis(i)/posts + crest.Millis(r.random.Int64N(int64(to-from)/posts))
		r.clock.Set(at)
		n := int(r.owed) / (posts - i)
		r.owed -= float64(n)
		ending := len(r.restarts) > 0 && from >= r.restarts[0].from && i >= r.restarts[0].post
		if err := r.request(ctx, at, n, ending); err != nil {
			return err
		}
		if ending {
			r.restarts = r.restarts[1:]
			if err := r.restart(); err != nil {
				return fmt.Errorf("restart: %w", err)
			}
		}
	}
	return nil
}

// request posts n new events, and the copies that are due. They are on disk when it returns if they have to be.
func (r *run) request(ctx context.Context, at crest.Millis, n int, logged bool) error {
	r.body = r.body[:0]
	sent := 0
	for range n {
		ev := r.traffic.draw(at)
		r.append(&ev)
		r.truth.add(&ev, at, false)
		r.earliest = min(r.earliest, ev.time.Floor(time.Hour))
		if ev.time < at.Add(-10*time.Second) {
			r.result.Late++
		}
		sent++
	}
	for a := r.traffic.dueBy(at); a != nil; a = r.traffic.dueBy(at) {
		if r.copy(a, at) {
			sent++
		}
	}
	if sent == 0 {
		return nil
	}
	r.result.Events += sent
	return r.node.post(ctx, r.body, sent, logged)
}

// copy sends an event again, unless it is left to chance what becomes of it. The fast path knows an id for at least the
// dedup horizon and less than twice that; the recount knows it within the hour, and across hours near their boundary.
func (r *run) copy(a *again, at crest.Millis) bool {
	ev := a.event
	if a.newTime {
		ev.time = at
	}
	horizon, passed := r.Node.Counting.DedupHorizon, time.Duration(at-a.counted)*time.Millisecond
	known := passed < horizon-time.Second
	if !known && passed <= 2*horizon+time.Second || !sameEvent(a.first, min(ev.time, at), r.Node.Edge()) {
		return false
	}
	r.append(&ev)
	r.result.Copies++
	if min(ev.time, at).Floor(time.Hour) != a.first.Floor(time.Hour) {
		r.result.Crossed++
	}
	if !known {
		r.result.Repeats++
		r.truth.add(&ev, at, true)
	}
	return true
}

// sameEvent reports whether the recount takes events of one id and these times for one.
func sameEvent(a, b crest.Millis, edge time.Duration) bool {
	first, second := min(a, b), max(a, b)
	boundary := second.Floor(time.Hour)
	return first >= boundary || first >= boundary.Add(-edge) && second < boundary.Add(edge)
}

func (r *run) append(ev *event) {
	k := &r.traffic.kinds[ev.kind]
	pb := eventpb.Event{
		UUID: ev.id, Type: k.name, Item: k.naming.spelling(ev.item, ev.spelling), TimeMillis: int64(ev.time),
		Session: "session" + strconv.Itoa(int(ev.session)), Weight: uint64(ev.weight),
	}
	for i, v := range ev.values[:k.dimensions] {
		if v != "" {
			pb.Dimensions = append(pb.Dimensions, eventpb.Dimension{Name: r.truth.names[i], Value: v})
		}
	}
	r.body = eventpb.AppendEvent(r.body, &pb)
}

// lists checks what was published for a moment.
func (r *run) lists(ctx context.Context, t crest.Millis, first bool) error {
	if first { // counting began in this step, and the first lists come with the next
		return nil
	}
	lists, err := r.node.published(ctx, t)
	if err != nil {
		return err
	}
	got := map[string]bool{}
	for i := range lists {
		l := &lists[i]
		if l.AsOf > t {
			r.wrong("%s: that is in the future", describe(l))
		}
		if l.AsOf != t {
			continue // of what was caught up with after a restart
		}
		got[l.Board+" "+l.Window] = true
		r.seam(l)
		r.result.Lists++
		r.result.Entries += len(l.Top)
		lacks := r.truth.check(l, r.cut, func(format string, args ...any) {
			r.wrong("%s: %s", describe(l), fmt.Sprintf(format, args...))
		})
		if lacks > 0 {
			r.result.Lacking[l.Window]++
			r.result.MostLacking = max(r.result.MostLacking, lacks)
		}
	}
	for _, w := range r.Node.Windows {
		for _, typ := range r.Node.Types {
			if t.Floor(w.Refresh) == t && !got[typ.Name+" "+w.Name] {
				r.wrong("%s %s as of %s was not published", typ.Name, w.Name, t.Time())
			}
		}
	}
	r.collect()
	return nil
}

// seam checks what a list says of its exact part.
func (r *run) seam(l *crest.List) {
	if l.ExactUntil > r.until {
		r.wrong("%s: exact_until is %s, but hours were counted until %s", describe(l), l.ExactUntil.Time(), r.until.Time())
	}
	if l.ExactUntil == 0 {
		return
	}
	r.result.Stitched++
	r.result.LargestSeam = max(r.result.LargestSeam, l.MaxOverCount)
}

// restart ends the node, by a stop and a crash in turn, and starts it again.
func (r *run) restart() error {
	if r.result.Stops <= r.result.Crashes {
		r.result.Stops++
		r.noteCounts()
		if err := r.node.stop(); err != nil {
			return err
		}
		return r.startNode()
	}
	r.result.Crashes++
	r.noteCounts()
	before, after := r.Node.Data, r.nextDir()
	if err := r.node.crash(after); err != nil {
		return err
	}
	r.Node.Data = after
	if err := os.RemoveAll(before); err != nil {
		return err
	}
	return r.startNode()
}
