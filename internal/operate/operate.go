// Package operate is the commands that an operator runs against the live stores beside the roles: they check what adnet
// promises about money (verify, reconcile), copy and bring back (backup, restore), send dead letters again (dlq), remove
// what is too old (retention), roll a day up, and print statements and the audit log. Each command is a struct of its
// settings with a Run that ends when the work is done.
package operate
