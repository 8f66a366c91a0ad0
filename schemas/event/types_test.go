package event

import (
	"slices"
	"strings"
	"testing"
)

func TestTableHasEveryType(t *testing.T) {
	if len(table) != len(Type_name)-1 {
		t.Errorf("%d rows for %d types", len(table), len(Type_name)-1)
	}
	columns := map[string]bool{}
	for _, k := range Kinds() {
		got, ok := TypeOf(k.Name)
		if !ok || got != k.Type || k.Type.Name() != k.Name || k.Type < 1 || int(k.Type) >= Types {
			t.Errorf("%s: %v", k.Name, k)
		}
		if k.Name != strings.ToLower(k.Type.String()) {
			t.Errorf("%s has the name %s", k.Type, k.Name)
		}
		if columns[k.Column] || k.Column == "" {
			t.Errorf("%s: the column %q is not its own", k.Name, k.Column)
		}
		columns[k.Column] = true
		if !slices.Contains([]Type{Type_IMPRESSION, Type_CLICK, Type_CONVERSION}, k.Life) {
			t.Errorf("%s lives as long as %s", k.Name, k.Life)
		}
	}
	for _, unknown := range []Type{-1, 0, Type(Types)} {
		if unknown.Name() != "" {
			t.Errorf("%d has the name %s", unknown, unknown.Name())
		}
	}
}

func TestTypeNamesAreAText(t *testing.T) {
	begin, end := "impression, viewable, click, close, skip, video_complete", " or conversion"
	if got := TypeNames(); !strings.HasPrefix(got, begin) || !strings.HasSuffix(got, end) {
		t.Errorf("the names are %q", got)
	}
}

func TestBillingModelsHaveNames(t *testing.T) {
	for number := range BillingModel_name {
		name, ok := BillingModel(number).Name()
		if !ok || ModelOf(name) != BillingModel(number) || (name == "") != (number == 0) {
			t.Errorf("%d has the name %q", number, name)
		}
	}
	if _, ok := BillingModel(-1).Name(); ok || ModelOf("cpx") != 0 {
		t.Error("an unknown model has a name")
	}
}
