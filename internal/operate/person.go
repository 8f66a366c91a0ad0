package operate

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"adnet/internal/cli"
	"adnet/internal/person"
)

// Erasure is what the caller of [EraseUser] says.
type Erasure struct {
	Account string    // e-mail or id
	Yes     bool      // nothing is asked
	Answer  io.Reader // of the question
}

// EraseUser is `adnet user erase`: it says what will happen, asks, and forgets who owns an account.
func EraseUser(p cli.Process, store person.Store, e Erasure) error {
	u, err := person.Find(p.Ctx, store, e.Account)
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
			"account %s of %s: keys are revoked, campaigns archived, logins end, and what names the person goes. "+
				"This cannot be undone.\nType the id of the account:\n", u.ID, u.Email,
		)
		line, err := bufio.NewReader(e.Answer).ReadString('\n')
		if strings.TrimSpace(line) != u.ID.String() {
			return errors.Join(errors.New("nothing was changed: the id was not typed; --yes asks nothing"), notEOF(err))
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
			"%s USD of its balance stay in the books and can be spent no more: give them back by the payment provider\n", done.Balance,
		)
	}
	fmt.Fprintln(
		p.Stdout, "ledger rows name the id alone and are as they were; backups of before still have the e-mail",
	)
	return nil
}

// notEOF is err, unless the input simply ended.
func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// ExportUser is `adnet user export`: it prints all that is held about an account as JSON.
func ExportUser(p cli.Process, store person.Store, who string) error {
	u, err := person.Find(p.Ctx, store, who)
	if err != nil {
		return cli.Sentence(err)
	}
	held, err := person.Export(p.Ctx, store, u)
	if err != nil {
		return err
	}
	return cli.PrintJSON(p.Stdout, held)
}
