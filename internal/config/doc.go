// Package config turns the environment into one struct. A start with wrong or
// missing values stops with every problem at once, one a line, and shows no
// value that may be a secret.
//
// A process reads only what it needs: the others' variables, and their
// passwords above all, don't reach its memory, and what is wrong with them is
// no reason to stop.
package config
