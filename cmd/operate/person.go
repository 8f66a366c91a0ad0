package operate

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"adnet/cmd/cli"
	"adnet/internal/compliance/person"
)

// Erasure holds the caller's input of [EraseUser].
type Erasure struct {
	Account string    // e-mail or id
	Yes     bool      // no question
	Answer  io.Reader // to the question
}

// EraseUser is `adnet user erase`: it prints the consequences, asks for confirmation, and erases
// the account's owner.
func EraseUser(p cli.Process, store person.Store, e Erasure) error {
	u, err := person.Find(p.Ctx, store.Accounts, e.Account)
	if err != nil {
		return cli.Sentence(err)
	}
	loss, err := person.LossOf(p.Ctx, store, u)
	if err != nil {
		return cli.Sentence(err)
	}
	if !u.Erased() && (loss.Balance > 0 || loss.Credits > 0) {
		fmt.Fprintf(p.Stderr, "%s USD and %d Credits of the account will be lost\n", loss.Balance, int64(loss.Credits))
	}
	if !e.Yes && !u.Erased() {
		fmt.Fprintf(
			p.Stderr,
			"account %s of %s: keys are revoked, campaigns archived, logins end, and personal data is removed. "+
				"This cannot be undone.\nType the id of the account:\n", u.ID, u.Email,
		)
		line, err := bufio.NewReader(e.Answer).ReadString('\n')
		if strings.TrimSpace(line) != u.ID.String() {
			return errors.Join(errors.New("nothing was changed: the account id was not confirmed (use --yes to skip the question)"), notEOF(err))
		}
	}
	done, err := person.Erase(p.Ctx, store, u, loss, time.Now().UTC())
	if err != nil {
		return cli.Sentence(err)
	}
	if done.Again {
		fmt.Fprintf(p.Stdout, "%s was erased before; nothing names its owner\n", u.ID)
		return nil
	}
	fmt.Fprintf(
		p.Stdout, "%s is erased: %d keys revoked, %d campaigns archived, logins ended\n", u.ID, done.Keys,
		done.Campaigns,
	)
	if done.Balance > 0 {
		fmt.Fprintf(
			p.Stdout,
			"%s USD of its balance stay in the books and can no longer be spent: refund them through the payment provider\n", done.Balance,
		)
	}
	fmt.Fprintln(
		p.Stdout, "ledger rows name only the id and are unchanged; earlier backups still have the e-mail",
	)
	return nil
}

// notEOF returns err, or nil if the input simply ended.
func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// ExportUser is `adnet user export`: it prints all data held about an account as JSON.
func ExportUser(p cli.Process, store person.Store, who string) error {
	u, err := person.Find(p.Ctx, store.Accounts, who)
	if err != nil {
		return cli.Sentence(err)
	}
	held, err := person.Export(p.Ctx, store, u)
	if err != nil {
		return err
	}
	return cli.PrintJSON(p.Stdout, held)
}
