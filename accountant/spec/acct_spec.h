/* acct_spec.h - rounds as text, `name:key=value,...`: the grammar of tombola-accountant and of the Python
 * module.  Every protocol of Tombola's plans has its name here, and the same privacy.  doc/accounting.md,
 * "Cells of the protocols", derives the cells of each name.
 *
 * Numbers are read by strtod in the caller's locale, which must have a decimal point.  A text has less than
 * ACCT_SPEC_MAX bytes.
 *
 * Every round takes
 *   n=         number of participants, with the victim; `others` is n-1.  It may be left out where
 *              participants give no blanket: bins, noise, hashed, and rounds with eps0=inf, unless they
 *              have chance=; and in rounds with padded= or least=
 *   count=     repetitions, default 1
 *   sampling=  the fraction of a population that takes part, drawn without replacement and anew for every
 *              repetition: all that are drawn, divided by the honest members of the population (acct.h)
 *   poisson=   the chance with which each of the n participants takes part, independently and anew for
 *              every round and every repetition; not with dummies, sampling= or levels
 *              (acct_round_poisson)
 *   defect=    the chance that the victim's input is given away (acct.h)
 *
 * eps0 is the local guarantee in nats, in (0, 700); dummies is their number in the whole round.  A round
 * may have several slots, each a batch of its own, and all of them compose.  There eps0, dummies and defect
 * are those of each slot, and sampling= and poisson= are refused, since one draw would decide for all
 * slots.
 *
 *   generic:eps0=               any randomizer with this guarantee
 *   rr:eps0=                    binary response
 *   grr:k=,eps0=                k-ary response
 *   mixbins:k=,eps0=[,dummies=][,chance=]
 *                               k-ary response among uniform dummies; eps0=inf is bins
 *   bins:k=,dummies=[,chance=]  truthful messages in k bins among uniform dummies
 *   noise:epsilon=,mean=        truthful messages in bins; to each bin the shuffler adds `mean` messages,
 *                               and discrete Laplace noise of decay e^(-epsilon/2), cut off at -mean and mean
 *   levels:b=,eps0=[,dummies=][,chance=]
 *                               numbers in [0,1] rounded to levels 0..b, mixbins on the b+1 levels
 *   prefixes:k=,eps0=[,dummies=][,chance=]
 *                               k-1 candidates and a bin for all other values: mixbins
 *   hashed:b=,dummies=[,chance=]
 *                               a seed and the input's hash in 0..b-1, truthful, among dummies that are
 *                               uniform on both
 *   rappor:d=,eps0=             d-bit unary encoding, every bit flipped alike; sue is the same
 *   oue:d=,eps0=                optimised unary encoding: the input's bit is a fair coin
 *   subset:d=,k=,eps0=          k of d items
 *   privset:d=,k=,s=,eps0=      k of d items, where an input is a set of s items
 *   olh:l=,eps0=[,d=]           a seed and l-ary response to its hash of the input, for any family of
 *                               hashes under which two inputs agree with chance 1/l (pairwise independence
 *                               is enough).  d: there are no more than d inputs, which lowers the loss
 *                               where d is 2, or where d is 3 and l is 2
 *   hadamard:d=,eps0=[,blocks=] Hadamard response on d inputs
 *   duchi:eps0=[,d=]            d signs (default 1) of numbers in [-1,1]; for even d ties are unlikely
 *                               reports
 *   harmony:eps0=[,d=]          one random coordinate of d, and binary response on its sign
 *   words:w=,eps0=[,groups=][,slots=][,dummies=][,chance=]
 *                               slots (default 1), in each w signs of one random group: mixbins on the
 *                               2^w words, dummies of any group; rotated is the same.  Words of one sign
 *                               with groups=1 are bits
 *   digits:base=,digits=,eps0=[,dummies=][,none=]
 *                               a slot of mixbins for each digit of a number; the first has these dummies,
 *                               digit i has base^i times as many; none=1: every slot has one symbol more,
 *                               for devices without a reading, as live rounds have unless the plan says
 *                               otherwise
 *   ranges:leaves=,fanout=,eps0=[,dummies=][,none=]
 *                               a slot of mixbins for each level of a tree, of fanout, fanout^2, .. leaves
 *   marginals:k=a/b/..,eps0=[,dummies=]
 *                               a slot of mixbins for each of up to 16 marginals of k combinations
 *   ss-simple:d=,levels=,eps0=  a slot for each of d coordinates, response on its levels
 *   ss-double:k=,levels=,eps0=  one coordinate of each of k groups, response on its levels
 *   ss-topk:k=,levels=,eps0=,padded=
 *                               the k largest coordinates; the shuffler leaves `padded` messages about
 *                               each, and sees which they are.  n= does not matter
 *   gspa-classes:k=,eps0=a/b/..,least=c/d/..
 *                               classes of guarantees a, b, .. with at least c, d, .. participants, k-ary
 *                               response in a batch of each class
 *   gspa-pooled:k=,eps0=a/b/..,least=c/d/..
 *                               the same in one batch; of n= participants (default the sum of least)
 *                               the rest is in the weakest class.  Holds for a victim of any class
 *   vrr:s=,eps0=[,d=]           vector response: s sampled bits of d, eps0/s for each; s up to 63
 *   laplace-levels:b=,eps0=     levels 0..b and discrete Laplace noise of scale b/eps0, clamped or not
 *   laplace-noise:eps0=         a number in [0, 1] and Laplace noise of scale 1/eps0
 *   metric:distance=,most=      metric differential privacy with any noise, for records that differ by at
 *                               most `distance` in a domain of diameter `most`; distances in nats (times
 *                               the metric's epsilon).  metric-laplace has Laplace noise on a line,
 *                               planar-laplace noise of the plane.  Rounding the report afterwards changes
 *                               nothing
 *   planar:w=,h=,eps0=[,distance=]
 *                               a cell of a w by h grid, at most 256 cells, and planar Laplace noise on
 *                               the cells, with eps0 between the two furthest cells.  distance: the loss of
 *                               a move of at most so many cells, where others may be anywhere
 *   staircase:b=,eps0=[,r=]     levels 0..b and discrete staircase noise of inner step r
 *   piecewise:b=,eps0=[,w=]     levels 0..b to 0..b+w-1, a window of w likely values
 *   balcer-cheu:t=[,k=|,d=][,coins=]
 *                               one message if the participant's bit is set, and one for each of its coins
 *                               (default 1) that falls so, with chance t; k counters (default 1), of which
 *                               a participant may change two, or d, of which one rises and one falls
 *   cheu:f=[,fakes=][,dummies=][,d=]
 *                               unary encoding of d values (default more than two), bits flipped with
 *                               chance f, among zero vectors flipped alike: `fakes` for each participant
 *                               (default 1), and `dummies`; only lower bounds depend on d
 *   hierarchy:f=,H=,eps0=       a random level of a tree, and response on its f, f^2, .. or f^H nodes
 *   parallel:k=a/b/..,eps0=c[/d/..][,share=e/f/..]
 *                               one public random sub-query of several: k is its number of symbols, eps0
 *                               one for all or one for each, share its chance (default equal)
 *   pair:p=,beta=,q=[,q2=]      the pair of acct_cells_pair, q2 default q; p=inf allowed
 *   cells:omega=a/b/..,u=a/b/..,v=a/b/..[,dummies=][,others_share=c/d/..,others_n=e/f/..][,messages=][,triple=][,shape=][,present=]
 *                               any list of cells.  messages: enum acct_messages or enum acct_families,
 *                               default 0.  others_share and others_n: of the n participants, e are of the
 *                               level of share c, and so on; here a dummy that comes by chance counts as a
 *                               participant.  present: the last cell is that of silence (acct_round.h)
 *
 * Central events are answers that a trusted party gives from everybody's records, composed with shuffled
 * rounds.  They take no n=. A distance is that of the answers on neighbours, which replace one record.
 *   gaussian:sigma=             normal noise of sigma times the L2 distance
 *   sampled-gaussian:sigma=,rate=
 *                               a sum of records of norm at most 1, each taking part with the chance rate,
 *                               and normal noise of deviation sigma
 *   laplace:scale=              one number, and Laplace noise of scale times the distance
 *   guarantee:epsilon=[,delta=] anything that is (epsilon, delta)-differentially private
 *
 * chance= in (0, 1): each of the n participants, the victim too, adds one more dummy with this chance, and
 * otherwise a message that says that it added none.  This is a level of that share and of n messages.
 *
 * hashed and olh take collision=, the least chance that the hashes of two inputs agree: default 1/b for
 * hashed, 1/l for olh.  olh takes triple=, which says that every three inputs agree with this chance, and
 * every two with `collision`; for hashes drawn from all functions triple is 1/l^2.
 *
 * rr and grr take others_eps=a/b/..,others_n=c/d/..: of the n participants, c have the guarantee a of their
 * own, and so on; the rest and the victim have eps0.  Ask for a victim of every class. */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACCT_SPEC_MAX   8192u /* most bytes of a text, its NUL included */
#define ACCT_SPEC_PARTS 16u   /* most different slots of a round; equal slots are one part with a count */

/* A round that a text describes, or one part of it: its cells, and facts for analyses that do not use
 * cells. */
struct acct_spec {
	struct acct_round round; /* the round, with the cells of --bound proved */
	const char *name;        /* the randomizer's name; static */
	uint64_t participants;   /* the number of participants n; 0: the text has none */
	/* Local guarantee of every participant, in nats; INFINITY: none.  For `pair` and `cells`, which do
	 * not say what others send, it is the least eps0 such that R0 and R1 are within a factor e^eps0 of
	 * each other, and of the blanket of others of every level. */
	double eps0;
	/* The pair (p, beta, q) that holds for the cells and all participants; p is 0 if there is none
	 * (levels). */
	double p, beta, q;
	double k;       /* symbols of a k-ary response, 0 for other randomizers */
	double poisson; /* chance of Poisson sampling, which the round's cells include; 0: no sampling */
	/* The next fields, for the method "lower", say what is known of data sets with a certain loss. */
	bool exact;     /* every data set has the loss of the cells' pair */
	bool some;      /* some randomizer with these cells has a data set with this loss */
	bool no_inputs; /* the cells are not those of two inputs of one randomizer */
	/* each law has two levels, and some third input has as much in common with either of the victim's
	 * inputs as these have with each other */
	bool third;
	/* the guarantees of the round's others are not those of the participants besides the victim: some
	 * count as weaker than they are */
	bool mixed;
	bool uniform; /* if the others' inputs are drawn uniformly, or are all a third one, their reports have
			 the blanket's law, and dummies have it, too */
	/* The victim's pair in one data set, in which the others' inputs are chosen.  The cells of `held`
	 * have the law of the others' reports, of which there are held.others, beside held.dummies and
	 * held.level.  Where held.messages says that they are bits, it is a round of participants instead,
	 * whose largest loss some data set has.  No cells: no such data set is known. */
	struct acct_round held;
	uint64_t attained; /* repetitions of that data set; 0: the round's count */
	double rounding;   /* relative error of each chance in `held`, besides the error of omega */
	/* the loss of `held` is one half of the round's; the other half has u and v exchanged */
	bool opposite;
	/* the round is laplace-noise: a number in [0, 1] and Laplace noise of scale 1/eps0 */
	bool laplace;
	double triple; /* the blanket's mass of messages that are likelier under each of three inputs */
	/* the cells are not those of one participant's randomizer, so the reduction of papers
	 * (acct_spec_published) does not exist */
	bool unpublished;
	/* The largest loss of one repetition, if the text states it as a decimal (acct_decimal.h): eps0=,
	 * or a guarantee's epsilon= without delta; 0: the text does not state it. */
	double pure;
};

/* Read a text into the 1..ACCT_SPEC_PARTS parts that the round is composed of, each with its count.
 * ACCT_EDOMAIN: the text is at fault; why gets one sentence of at most room bytes that names the part at
 * fault. */
ACCT_CHECK enum acct_rc acct_spec_parts(
	const char *text, struct acct_spec part[ACCT_SPEC_PARTS], size_t *parts, char *why, size_t room);

/* The same for a round of one part; ACCT_EDOMAIN also if it has several. */
ACCT_CHECK enum acct_rc acct_spec_parse(const char *text, struct acct_spec *s, char *why, size_t room);

/* Write the round as text, as `cells` or as its central event.  acct_spec_parse reads the text back to a
 * round that is equal to the last bit.  ACCT_EDOMAIN: acct_round_check tells why, or the round is a
 * profile, which has no text. */
ACCT_CHECK enum acct_rc acct_spec_text(const struct acct_round *r, char out[ACCT_SPEC_MAX]);

/* Replace the round by the reduction to two counts that papers publish, to compare with them
 * (doc/accounting.md, "Why not the published pair").  It is NOT an upper bound when beta < (p-1)/(p+1).
 *
 * The reduction is the pair of three cells in which every left-over message counts as residual blanket.  p
 * is the largest u/v of the cells, beta = sum omega (u-v)+, and q the largest u or v.  The residual has the
 * ratio q2* = rho/(1-2pa/q), where pa = beta/(1-1/p) and rho = 1-pa-pa/p.  It is a bound only where the
 * true residual ratio is at most q2*.  ACCT_EDOMAIN: no (p, beta, q) is known. */
ACCT_CHECK enum acct_rc acct_spec_published(
	const struct acct_spec *s, struct acct_round *r, const char **why);

#ifdef __cplusplus
}
#endif
