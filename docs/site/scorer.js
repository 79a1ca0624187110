// How search ranks: Sphinx's own numbers, less for pages that a user of attndsl looks into last.
const INSIDE = ["docs/ir", "RATIONALE", "CONTRIBUTING", "CHANGELOG"];

var Scorer = {
  score: ([page, title, anchor, description, score]) => (INSIDE.includes(page) ? score - 10 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
