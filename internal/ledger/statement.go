package ledger

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"adnet/internal/day"
	"adnet/internal/errs"
	"adnet/internal/money"
)

// StatementQuery selects one owner's month.
type StatementQuery struct {
	Advertiser uuid.UUID // zero for none
	Developer  uuid.UUID
	Month      day.Month
	Now        time.Time // months that ended before it are closed
}

// Sides returns the accounts of the statement.
func (q StatementQuery) Sides() (sides []Side) {
	if q.Advertiser != uuid.Nil {
		sides = append(sides, Side{AdvertiserCash(q.Advertiser), USD})
	}
	return append(sides, CreditSides(q.Developer)...)
}

// CreditSides returns the accounts of a publisher's Credits: spendable, pending, held.
func CreditSides(developer uuid.UUID) []Side {
	return []Side{
		{DeveloperCredits(developer), Credit}, {PendingCredits(developer), Credit}, {WaitingCredits(developer), Credit},
	}
}

// Matches reports whether the account is part of the statement. Pending and held Credits are
// included only after their first movement.
func (a *AccountStatement) Matches(q StatementQuery) bool {
	return a.Account == DeveloperCredits(q.Developer) || a.Asset == USD || a.Opening != 0 || len(a.Rows) > 0
}

// Closed reports whether the month is over.
func (q StatementQuery) Closed() bool { return !q.Now.Before(q.Month.End()) }

// Statement summarises the movements of an owner's accounts in a month.
//
// A past month is closed when its statement is first requested: the number of its last entry is
// stored for each account. An entry written later, whatever its date, belongs to the next open
// month. So a closed month's statement is always the same, byte for byte.
type Statement struct {
	Month    day.Month
	Closed   bool
	Accounts []AccountStatement
}

// AccountStatement is the part of a statement about one account.
type AccountStatement struct {
	Side
	Opening, Closing int64
	Head             Hash // of the last entry up to the closing balance; zero without entries
	Rows             []StatementRow
}

// StatementRow is one movement, or one day's charges of a campaign or mints.
type StatementRow struct {
	Day         day.Day
	Kind        Kind
	Campaign    uuid.UUID // zero for none
	Transaction uuid.UUID // zero for sums
	Ref         string    // the provider's payment
	Reverses    uuid.UUID
	Movements   int64
	Amount      int64
	first       int64 // position of its first entry
}

// statementSum is the key by which rows are summed.
type statementSum struct {
	day      day.Day
	kind     Kind
	campaign uuid.UUID
}

// AccountBuilder sums the links of one side into rows: charges by day and campaign, mints and
// released Credits by day, everything else individually. It keeps only the rows, not the links.
type AccountBuilder struct {
	s    AccountStatement
	sums map[statementSum]int
}

// NewAccountBuilder starts after the link whose head is opening.
func NewAccountBuilder(side Side, opening Head) *AccountBuilder {
	return &AccountBuilder{
		s:    AccountStatement{Side: side, Opening: opening.Balance, Closing: opening.Balance, Head: opening.Hash},
		sums: make(map[statementSum]int),
	}
}

// Add adds the next link of the side.
func (b *AccountBuilder) Add(l *Link) {
	b.s.Closing, b.s.Head = l.Balance, l.Hash
	row := StatementRow{
		Day: day.Of(l.At), Kind: l.Kind, Reverses: l.Reverses, Movements: 1, Amount: l.Amount, first: l.Seq,
	}
	switch l.Kind {
	case KindCharge, KindCreditFund, KindTrafficRefund:
		row.Campaign = l.Subject
	case KindMint, KindCreditRelease, KindCreditMature:
	default:
		row.Ref = l.Ref
	}
	summed := l.Kind == KindCharge || l.Kind == KindMint || l.Kind == KindCreditRelease || l.Kind == KindCreditMature
	if summed && l.Reverses == uuid.Nil {
		key := statementSum{row.Day, row.Kind, row.Campaign}
		if at, ok := b.sums[key]; ok {
			b.s.Rows[at].Movements++
			b.s.Rows[at].Amount += l.Amount
			return
		}
		b.sums[key] = len(b.s.Rows)
	} else {
		row.Transaction = l.Transaction
	}
	b.s.Rows = append(b.s.Rows, row)
}

// Done returns the account's part, with its rows by day.
func (b *AccountBuilder) Done() AccountStatement {
	slices.SortStableFunc(b.s.Rows, func(x, y StatementRow) int {
		return cmp.Or(cmp.Compare(x.Day, y.Day), cmp.Compare(x.first, y.first))
	})
	return b.s
}

// Begun rejects a month that has not begun. Errors: errs.InvalidRequest.
func (q StatementQuery) Begun() error {
	if q.Now.Before(q.Month.Start()) {
		return errs.New(errs.InvalidRequest, "the month has not begun").With("field", "month")
	}
	return nil
}

// statementHeader has the columns of [Statement.CSV].
var statementHeader = []string{
	"month", "account", "asset", "row", "date", "campaign_id", "transaction_id", "reference", "reverses", "movements",
	"amount_micro_usd", "amount_usd", "amount_credits", "balance_micro_usd", "balance_usd", "balance_credits",
	"chain_hash",
}

// CSV returns the statement as RFC 4180 text: for each account an opening row, the movements by day
// with the balance after each, and a closing row, or balance_to_date while the month is not over.
// Amounts of USD are in micro-USD and in USD, amounts of Credits in whole Credits.
func (s *Statement) CSV() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	if err := w.Write(statementHeader); err != nil {
		return nil, err
	}
	for i := range s.Accounts {
		if err := s.writeAccount(w, &s.Accounts[i]); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

func (s *Statement) writeAccount(w *csv.Writer, a *AccountStatement) error {
	write := func(kind, date string, fill func(r []string), amount, balance *int64) error {
		r := make([]string, len(statementHeader))
		r[0], r[1], r[2], r[3], r[4] = s.Month.String(), string(a.Account), string(a.Asset), kind, date
		if fill != nil {
			fill(r)
		}
		a.figures(r[10:13], amount)
		a.figures(r[13:16], balance)
		return w.Write(r)
	}
	balance := a.Opening
	if err := write("opening", s.Month.Start().Format(time.DateOnly), nil, nil, &balance); err != nil {
		return err
	}
	for i := range a.Rows {
		row := &a.Rows[i]
		balance += row.Amount
		err := write(string(row.Kind), row.Day.String(), func(r []string) {
			r[5], r[6], r[7], r[8], r[9] = idText(row.Campaign), idText(row.Transaction), row.Ref, idText(row.Reverses),
				strconv.FormatInt(row.Movements, 10)
		}, &row.Amount, &balance)
		if err != nil {
			return err
		}
	}
	last := "balance_to_date"
	if s.Closed {
		last = "closing"
	}
	return write(last, s.Month.End().AddDate(0, 0, -1).Format(time.DateOnly), func(r []string) {
		if a.Head != (Hash{}) {
			r[16] = fmt.Sprintf("%x", a.Head)
		}
	}, nil, &a.Closing)
}

// figures fills the columns micro-USD, USD and Credits.
func (a *AccountStatement) figures(columns []string, amount *int64) {
	switch {
	case amount == nil:
	case a.Asset == USD:
		columns[0], columns[1] = strconv.FormatInt(*amount, 10), money.Micros(*amount).String()
	default:
		columns[2] = strconv.FormatInt(*amount, 10)
	}
}

func idText(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}
