package httpapi

import (
	"net/http"
	"strings"
)

// router finds the entrance for a method and a path. It is an index over the few routes that there
// are: paths without parameters by their text, the others one after the other. A library's router
// would bring rules that we do not want (redirects to a cleaned path), and allocations.
type router struct {
	fixed map[string]*site
	open  []*site // paths with parameters, in the order of their mounting
	trees []*site // paths whose last parameter is all that follows, slashes included
}

// site is a path with what answers there.
type site struct {
	path      string
	params    []string    // names
	entrances []*entrance // one for each method, in the order of their mounting
	allow     string      // the methods
	form      ErrorForm   // of all its errors; nil for WriteError
}

// add makes e reachable and gives its site, or false if its method and path are taken.
func (r *router) add(e *entrance) (*site, bool) {
	s := r.site(e.path)
	if s.entrance(e.method) != nil {
		return s, false
	}
	s.enter(e)
	return s, true
}

// addAt makes e, which is mounted elsewhere, reachable at path too.
func (r *router) addAt(path string, e *entrance) *site {
	s := r.site(path)
	s.enter(e)
	return s
}

func (s *site) enter(e *entrance) {
	s.entrances = append(s.entrances, e)
	s.allow = s.methods()
}

// site finds or makes the site of a path.
func (r *router) site(path string) *site {
	if s := r.named(path); s != nil {
		return s
	}
	s := &site{path: path}
	for part := range strings.SplitSeq(path, "/") {
		if name, is := strings.CutPrefix(part, ":"); is {
			s.params = append(s.params, name)
		}
	}
	if len(s.params) == 0 {
		r.fixed[path] = s
	} else {
		r.open = append(r.open, s)
	}
	return s
}

// methods are those that the site answers, for the header Allow.
func (s *site) methods() string {
	var names []string
	for _, e := range s.entrances {
		names = append(names, e.method)
		if e.method == http.MethodGet && s.entrance(http.MethodHead) == nil {
			names = append(names, http.MethodHead)
		}
	}
	return strings.Join(names, ", ")
}

// answering is the entrance for a method: a HEAD is answered as the GET would be, without its body
// (RFC 9110, section 9.3.2). Handlers of GET that record something look at the method.
func (s *site) answering(method string) *entrance {
	e := s.entrance(method)
	if e == nil && method == http.MethodHead {
		e = s.entrance(http.MethodGet)
	}
	return e
}

// grow makes e answer for its path, which ends with a parameter, and for all paths below it.
func (r *router) grow(e *entrance) *site {
	below, name, _ := strings.Cut(e.path, ":")
	s := &site{path: below, params: []string{name}}
	s.enter(e)
	r.trees = append(r.trees, s)
	return s
}

// named is the site that was mounted as path.
func (r *router) named(path string) *site {
	for _, s := range r.open {
		if s.path == path {
			return s
		}
	}
	return r.fixed[path]
}

// find returns the site of a request's path, nil for an unknown path, and puts the values of the
// path's parameters into values.
func (r *router) find(path string, values []string) (*site, []string) {
	if s, ok := r.fixed[path]; ok {
		return s, values
	}
	for _, s := range r.open {
		if found, ok := match(s.path, path, values); ok {
			return s, found
		}
	}
	for _, s := range r.trees {
		if rest, below := strings.CutPrefix(path, s.path); below || path+"/" == s.path {
			return s, append(values, rest)
		}
	}
	return nil, values
}

// match compares a path with a mounted one, whose parameters stand for one part each.
func match(mounted, path string, values []string) ([]string, bool) {
	for {
		i := strings.IndexByte(mounted, ':')
		if i < 0 {
			return values, mounted == path
		}
		if len(path) <= i || path[:i] != mounted[:i] {
			return values, false
		}
		mounted, path = mounted[i:], path[i:]
		var value string
		value, path = part(path)
		_, mounted = part(mounted)
		values = append(values, value)
	}
}

// part cuts a path before its first slash.
func part(path string) (first, rest string) {
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}

func (s *site) entrance(method string) *entrance {
	for _, e := range s.entrances {
		if e.method == method {
			return e
		}
	}
	return nil
}
