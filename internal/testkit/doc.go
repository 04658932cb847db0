// Package testkit gives tests real things of their own: databases cloned from a
// migrated template, one set a test, so that tests run in parallel and each may
// compare the whole state at its end. Where a test needs a network that fails, a
// Proxy in front of each database makes the real server's answers late or lost.
// Nothing outside of tests imports it.
//
// It needs a PostgreSQL server that it may do anything with, whose superuser's
// URL is in HOLDFAST_TEST_ADMIN_URL; "make test" starts one and sets it. A
// test without it fails: a suite that skips its promises proves nothing.
package testkit
