package main

import (
	"math/rand/v2"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// app is a tenant's application: it makes accounts, devices and imports, changes
// them, and repeats what was lost. What it makes is nobody else's, and the keys
// that it wants are everybody's.
type app struct {
	*tempest
	rng     *rand.Rand
	client  *holdfast.ClientWithResponses
	keyless *holdfast.ClientWithResponses // drops the Idempotency-Key that a client adds
	bulk    *holdfast.ClientWithResponses // for imports, which wait for what passes
	public  *holdfast.ClientWithResponses // of its devices, without a token

	accounts []*account
	devices  []*device
	files    []*file
}

func (s *tempest) newApp(t *testing.T, name int) *app {
	t.Helper()
	in := door{s.fleet, longestAnswer, true}
	public, err := holdfast.NewClientWithResponses(anywhere, holdfast.WithHTTPClient(in))
	if err != nil {
		t.Fatal(err)
	}
	keylessly, err := holdfast.Connect(anywhere, s.tenant.key, holdfast.WithAttempts(1), holdfast.WithHTTPDoer(keyless{in}))
	if err != nil {
		t.Fatal(err)
	}
	return &app{
		tempest: s,
		rng:     rand.New(rand.NewPCG(s.seed, uint64(name))),
		client:  in.connect(t, s.tenant.key),
		keyless: keylessly,
		bulk:    door{s.fleet, 3 * longestAnswer, true}.connect(t, s.tenant.key),
		public:  public,
	}
}

// run acts until the storm is over.
func (p *app) run(t *testing.T) {
	for p.fleet.await(0) {
		p.act(t)
	}
}

// act does one thing of all that there are to do.
func (p *app) act(t *testing.T) {
	if p.rng.IntN(5) < 2 && p.settleAny(t) {
		return
	}
	var total int
	for _, d := range deeds {
		total += d.weight
	}
	at := p.rng.IntN(total)
	for _, d := range deeds {
		if at -= d.weight; at < 0 {
			d.do(p, t)
			return
		}
	}
}

// deeds are what an application does, and how often one to another.
var deeds = []struct {
	weight int
	do     func(*app, *testing.T)
}{
	{12, (*app).createAccount},
	{2, (*app).createTwice},
	{8, (*app).remark},
	{4, (*app).turn},
	{14, (*app).changeEmail},
	{3, (*app).thereAndBack},
	{3, (*app).swap},
	{3, (*app).removeEmail},
	{5, (*app).remove},
	{8, (*app).duel},
	{2, (*app).callOff},
	{4, (*app).readOwn},
	{2, (*app).readMany},
	{6, (*app).lookUpOwn},
	{6, (*app).createDevice},
	{4, (*app).authorizeDevice},
	{18, (*app).useDevice},
	{3, (*app).listDevices},
	{3, (*app).importFile},
}

// settleAny goes on with something of which not all is known, if there is any.
func (p *app) settleAny(t *testing.T) bool {
	switch first := p.rng.IntN(3); {
	case first == 0 && p.settleFile(t), first < 2 && p.settleDevice(t):
		return true
	}
	if a := pick(p.rng, p.accounts, (*account).unsettled); a != nil {
		p.settle(t, a)
		return true
	}
	return false
}

// pick is one of those that are so, or nil.
func pick[T any](rng *rand.Rand, all []*T, so func(*T) bool) (picked *T) {
	n := 0
	for _, one := range all {
		if so(one) {
			n++
			if rng.IntN(n) == 0 {
				picked = one
			}
		}
	}
	return picked
}

// later is when to go on after an error: when it says so, or at once.
func later(err error) time.Time { return time.Now().Add(retryAfterOf(err)) }

// side runs two at once.
func side(one, other func()) {
	done := make(chan struct{})
	go func() { defer close(done); one() }()
	other()
	<-done
}
