/* acct_spec.h - rounds as text, `name:key=value,...`: the grammar of tombola-accountant and of the Python
 * module.  Every protocol of Tombola's plans has its name here, and the same privacy.  doc/accounting.md,
 * "Cells of the protocols", derives the cells of each name.
 *
 * Numbers are read by strtod in the caller's locale, which must have a decimal point.  A text has less than
 * ACCT_SPEC_MAX bytes.
 *
 * Every round takes
 *   n=         participants, the victim among them; `others` is n-1.  Not needed where participants
 *              give no blanket: bins, noise, hashed, and where eps0=inf, all but with chance=; nor with
 *              padded= and least=
 *   count=     repetitions, default 1
 *   sampling=  the fraction of a population that takes part, without replacement, drawn anew for every
 *              repetition; all that are drawn, over the honest of the population: acct.h
 *   poisson=   the chance with which each of the n participants takes part, independently, anew for every
 *              round and every repetition; not with dummies, sampling= or levels: acct_round_poisson
 *   defect=    the chance that the victim's input is given away: acct.h
 *
 * eps0 is the local guarantee in nats, in (0, 700); dummies are those of the whole round.  A round may have
 * several slots, each a batch of its own, which compose: there eps0, dummies and defect are each slot's, and
 * sampling= and poisson= are refused, for one draw would decide for all.
 *
 *   generic:eps0=               any randomizer with this guarantee
 *   rr:eps0=                    binary response
 *   grr:k=,eps0=                k-ary response
 *   mixbins:k=,eps0=[,dummies=][,chance=]
 *                               k-ary response among uniform dummies; eps0=inf is bins
 *   bins:k=,dummies=[,chance=]  truthful messages in k bins among uniform dummies
 *   noise:epsilon=,mean=        truthful messages in bins, to each of which the shuffler adds mean and
 *                               discrete Laplace noise of decay e^(-epsilon/2), cut off at -mean and mean
 *   levels:b=,eps0=[,dummies=][,chance=]
 *                               numbers in [0,1] rounded to levels 0..b, mixbins on the b+1 levels
 *   prefixes:k=,eps0=[,dummies=][,chance=]
 *                               k-1 candidates and a bin for none of them: mixbins
 *   hashed:b=,dummies=[,chance=]
 *                               seed and hash in 0..b-1, truthful, among dummies uniform on both
 *   rappor:d=,eps0=             d-bit unary encoding, every bit flipped alike; sue is the same
 *   oue:d=,eps0=                optimised unary encoding: the input's bit is a fair coin
 *   subset:d=,k=,eps0=          k of d items
 *   privset:d=,k=,s=,eps0=      k of d items, inputs are sets of s items
 *   olh:l=,eps0=[,d=]           seed and l-ary response to its hash of the input, hashes of any family
 *                               under which two inputs agree with chance 1/l (pairwise independence is
 *                               enough); d: there are no more than d inputs, which helps where d is 2,
 *                               or 3 and l is 2
 *   hadamard:d=,eps0=[,blocks=] Hadamard response on d inputs
 *   duchi:eps0=[,d=]            d signs (default 1) of numbers in [-1,1]; for even d ties count as unlikely
 *   harmony:eps0=[,d=]          one random coordinate of d, its sign by binary response
 *   words:w=,eps0=[,groups=][,slots=][,dummies=][,chance=]
 *                               slots (default 1): w signs of one random group in each, mixbins on
 *                               the 2^w words, dummies of any group; rotated is the same.  Words of
 *                               one sign in groups=1 are bits
 *   digits:base=,digits=,eps0=[,dummies=][,none=]
 *                               a slot of mixbins for each digit of a number; dummies of the first,
 *                               base^i times as many of digit i; none=1: every slot has one symbol more,
 *                               of who has no reading, as live rounds have unless the plan says otherwise
 *   ranges:leaves=,fanout=,eps0=[,dummies=][,none=]
 *                               a slot of mixbins for each level of a tree: fanout, fanout^2, .. leaves
 *   marginals:k=a/b/..,eps0=[,dummies=]
 *                               a slot of mixbins for each of up to 16 marginals of k combinations
 *   ss-simple:d=,levels=,eps0=  a slot for each of d coordinates, response on its levels
 *   ss-double:k=,levels=,eps0=  one coordinate of each of k groups, response on its levels
 *   ss-topk:k=,levels=,eps0=,padded=
 *                               the k largest coordinates; the shuffler leaves padded messages about
 *                               each, and sees which they are.  n= does not matter
 *   gspa-classes:k=,eps0=a/b/..,least=c/d/..
 *                               classes of guarantees, at least c, d, .. participants in each, k-ary
 *                               response in a batch of each class
 *   gspa-pooled:k=,eps0=a/b/..,least=c/d/..
 *                               the same in one batch; of n= participants (default the sum of least)
 *                               the rest is in the weakest class.  Any victim
 *   vrr:s=,eps0=[,d=]           vector response: s sampled bits of d, eps0/s each; s up to 63
 *   laplace-levels:b=,eps0=     levels 0..b and discrete Laplace noise of scale b/eps0, clamped or not
 *   laplace-noise:eps0=         a number in [0, 1] and Laplace noise of scale 1/eps0
 *   metric:distance=,most=      metric differential privacy, distances in nats (times its epsilon): records
 *                               that differ by at most distance, in a domain of diameter most; any
 *                               noise.  metric-laplace: Laplace's on a line.  planar-laplace: the
 *                               plane's.  Rounding the report afterwards changes nothing
 *   planar:w=,h=,eps0=[,distance=]
 *                               a cell of a w by h grid, at most 256, and planar Laplace noise on the
 *                               cells, eps0 between the two furthest; distance: what two places tell that
 *                               are at most so many cells apart, in a round of any places
 *   staircase:b=,eps0=[,r=]     levels 0..b and discrete staircase noise of inner step r
 *   piecewise:b=,eps0=[,w=]     levels 0..b to 0..b+w-1, a window of w likely values
 *   balcer-cheu:t=[,k=|,d=][,coins=]
 *                               a message iff the bit is set, and for each of a participant's coins
 *                               (default 1) of chance t that falls so; k counters (default 1), of which
 *                               a participant may change two, or d, of which one rises and one falls
 *   cheu:f=[,fakes=][,dummies=][,d=]
 *                               unary encoding of d values (default more than two) with flips of chance
 *                               f, and fake zero vectors flipped alike: fakes per participant (default 1),
 *                               and dummies; of d only lower bounds know
 *   hierarchy:f=,H=,eps0=       a random level of a tree, response on its f, f^2, .. or f^H nodes
 *   parallel:k=a/b/..,eps0=c[/d/..][,share=e/f/..]
 *                               one public random sub-query of several: its symbols, its eps0 (one or
 *                               one each), its chance (default equal)
 *   pair:p=,beta=,q=[,q2=]      the pair of acct_cells_pair, q2 default q; p=inf allowed
 *   cells:omega=a/b/..,u=a/b/..,v=a/b/..[,dummies=][,others_share=c/d/..,others_n=e/f/..][,messages=][,triple=][,shape=]
 *                               any list; messages: enum acct_messages or enum acct_families, default 0; of
 * the n participants, e are the level of share c, and so on; a dummy that comes by chance counts as a
 * participant here
 *
 * Central events: what a trusted party answers from everybody's records, composed with shuffled rounds.  They
 * take no n=.  A distance is that of the answers on neighbours, which replace one record.
 *   gaussian:sigma=             normal noise of sigma times the L2 distance
 *   sampled-gaussian:sigma=,rate=
 *                               a sum of records of norm at most 1, each taking part with the chance rate,
 *                               and normal noise of deviation sigma
 *   laplace:scale=              one number, and Laplace noise of scale times the distance
 *   guarantee:epsilon=[,delta=] whatever is (epsilon, delta)-differentially private
 *
 * chance= in (0, 1): each of the n participants adds one dummy more with this chance, the victim too, and
 * else a message that says so: a level of that share and of n messages.
 *
 * hashed and olh take collision=, the least chance that the hashes of two inputs agree: default 1/b, 1/l.
 * olh takes triple=, where it is the chance of every three inputs, and collision that of every two: 1/l^2 of
 * all functions.
 * rr and grr take others_eps=a/b/..,others_n=c/d/..: of the n participants, c have a guarantee of their own,
 * a, and so on; the rest and the victim have eps0.  Ask for a victim of every class. */
#pragma once

#include "acct.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACCT_SPEC_MAX   8192u /* bytes of a text, its NUL included */
#define ACCT_SPEC_PARTS 16u   /* different slots of a round; equal ones are one part with a count */

/* A round that a text describes, or one part of it: its cells, and facts for analyses that do not use
 * cells. */
struct acct_spec {
	struct acct_round round; /* the round, as for --bound proved */
	const char *name;        /* the randomizer's name; static */
	uint64_t participants;   /* n; 0 if the text has none */
	/* Local guarantee of every participant, in nats; INFINITY: none.  For `pair` and `cells`, which do
	 * not say what others send, it is the least eps0 such that R0 and R1 are within a factor e^eps0 of
	 * each other, and of the blanket of others of every level. */
	double eps0;
	/* The pair (p, beta, q) that holds for the cells and all participants; p is 0 if there is none
	 * (levels). */
	double p, beta, q;
	double k;       /* symbols of a k-ary response, 0 for other randomizers */
	double poisson; /* chance of Poisson sampling, which the round's cells include; 0: none */
	/* What is known of data sets that have a certain loss, for the method "lower". */
	bool exact;     /* every data set has the loss of the cells' pair */
	bool some;      /* some randomizer with these cells has a data set with this loss */
	bool no_inputs; /* the cells are not those of two inputs of one randomizer */
	bool third; /* each law has two levels, and some third input has as much in common with either of the
		       victim's inputs as they have with each other */
	bool uniform; /* if the others' inputs are drawn uniformly, their reports have the blanket's law, and
			 dummies have it, too */
	/* The victim's pair in one data set, whose other inputs are chosen: `held` has as its cells the law
	 * of the others' reports, of which there are held.others, among held.dummies and held.level.  No
	 * cells: no such data set is known. */
	struct acct_round held;
	uint64_t attained; /* repetitions of that data set; 0: the round's count */
	double rounding;   /* relative error of each chance in `held`, beside that of omega */
	bool opposite;     /* `held` is one half of the round, and the other half has u and v exchanged */
	bool laplace;      /* a number in [0, 1] and Laplace noise of scale 1/eps0 */
	double triple;     /* the blanket's mass that is likelier under each of three inputs */
	bool unpublished;  /* the cells are not those of one participant's randomizer, so the papers have no
			      reduction of it */
	/* Most that one repetition loses, if the text says it as a decimal (acct_decimal.h): eps0=, or a
	 * guarantee's epsilon= without delta; 0 if the text does not. */
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
