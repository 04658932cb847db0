package lease

import (
	"os"
	"syscall"
)

// mayCrash tells that the database server is this test's alone, and may be killed:
// make crash says so.
func mayCrash() bool { return os.Getenv("HOLDFAST_TEST_CRASH") != "" }

// crash kills a backend, as a kernel does that has no memory left. The server then
// ends all others at once and comes back by its log, which is all that it has of
// what was committed.
func (s *storm) crash() {
	ctx := s.t.Context()
	dying, err := s.admin[s.router.Databases()[0].Name].Acquire(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	defer dying.Release()
	beside, err := s.admin[s.router.Databases()[0].Name].Acquire(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	defer beside.Release()
	var commits string
	if err := beside.QueryRow(ctx, `SHOW synchronous_commit`).Scan(&commits); err != nil || commits != "on" {
		s.t.Fatalf("the server promises nothing that outlives a crash: synchronous_commit is %s, %v", commits, err)
	}
	if err := syscall.Kill(int(dying.Conn().PgConn().PID()), syscall.SIGKILL); err != nil {
		s.t.Fatal(err)
	}
	if _, err := beside.Conn().WaitForNotification(ctx); ctx.Err() != nil { // it fails when the server ends it
		s.t.Fatal(err)
	}
	for _, pool := range s.admin {
		for pool.Reset(); pool.Ping(ctx) != nil; {
			s.await(1)
		}
	}
	s.t.Log("the server was killed, and came back")
}
