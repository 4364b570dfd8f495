import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** Acceptance ids that SECURITY.md cites. The title of at least one test must cite each of them. */
const covered = [
  'S01 the URL holds only an opaque id',
  'S02 opening without sign-in shows nothing',
  'S03 a wrong person is refused at open, POST and callback, without a token request',
  'S04 a callback in a foreign browser burns the transaction',
  'S05 identity is issuer and immutable claim',
  'S06 a new session id at every sign-in',
  'S07 idle and absolute session lifetime, logout',
  'S08 sign-in with code, PKCE, state, nonce and iss',
  'S09 login CSRF is impossible, the page names the account',
  'S11 steps cannot be skipped or reordered',
  'S12 requestState is sealed and bound',
  'S13 no MCP message, log or URL carries a provider credential',
  'S14 PKCE S256 on every authorization',
  'S15 mix-up defence by iss',
  'S16 one redirect URI per MCP server and provider',
  'S17 metadata issuer equals the configured one',
  'S18 pushed requests where offered, always where required',
  'S19 granted scopes stored and shown',
  'S20 own consent page before the redirect',
  'S21 assertions with the issuer as sole audience, no secret in a query',
  'S22 one refresh for all, nothing lost by rotation, the person asked when the grant is over',
  'S23 DPoP keys in the vault, nonce challenges answered',
  'S24 the provider is told, and the deletion here happens anyway',
  'S25 GET and HEAD change nothing',
  'S26 POSTs need same origin and a CSRF token',
  'S27 cookie attributes',
  'S28 content security policy, and the provider hop works',
  'S29 security headers on every answer',
  'S30 no CORS',
  'S31 texts of MCP servers are inert',
  'S32 redirects only to registered URIs, always 303',
  'S33 the callback URL is replaced, no third-party resources',
  'S34 accessible, without JavaScript, at 320 px',
  'S35 secret fields are masked, never echoed, never in a GET',
  'S36 displayed, stored and approved terms are one, and never change',
  'S37 one approval under double clicks, tabs, reloads and processes',
  'S38 an approval is redeemed once and bound to its terms',
  'S39 integer minor units within limits, shown with the decimals of their currency',
  'S40 declined, closed and too late are told apart, and final',
  'S41 API credentials hashed, expiring, rotatable',
  'S42 tenants see nothing of each other',
  'S43 Idempotency-Key',
  'S44 strict schemas',
  'S45 ids have at least 128 random bits',
  'S46 rate limits per caller and subject',
  'S47 only scalars reach Redis through one key builder',
  'S48 waiting reads are authenticated, capped and the own only',
  'S49 secrets are sealed at rest',
  'S50 sealed values are bound to what they belong to',
  'S51 keys rotate without a gap, a lost key fails by name',
  'S52 secrets are deleted when they are over',
  'S53 no secret in logs, errors or metrics',
  'S54 audit events',
  'S55 the egress guard',
  'S56 webhooks follow Standard Webhooks',
  'S57 plain http only on loopback',
  'S58 explicit timeouts and size limits',
  'S59 forged forwarding headers are ignored',
  'S60 generic errors with a request id',
  'S61 fails closed when Redis or a provider is lost',
  'S62 start-up refuses an unsafe configuration',
  'S65 no mix-up of identity providers at sign-in (RFC 9700 section 4.4)',
  'S66 no input takes more than 20 ms of one turn of the event loop',
  'S67 no browser session alone changes the passkeys of its person',
  'S68 no payment is reported to be paid back that another gateway made or that was dealt with before',
  'S69 test money is marked, and refused unless told',
  'S70 a payment that the processor cannot take is refused at issue',
  'S71 a restricted key learns of every card payment, and the log names what the processor refused',
  'S72 one MCP server or provider never shuts out the others',
  'S73 no MCP server fills Redis for the others',
  'S74 texts are visible, stay in their line, and imitate no registered name',
  'S76 /login?e= answers real and random ids alike',
  'S77 a Redis that refuses writes shows in readiness, log and metrics',
  'S75 a form is read after its person is known, as far as its page has controls',
  'S78 every failed outbound request is logged with whose, host and cause, and nothing else of it',
  'S79 log lines name process, request and source, and a start that fails says where and why',
  'S80 a replica that stops loses no request',
  'S81 a disconnection ends the access token too, and says exactly what the provider confirmed',
  'S82 max_age is asked for where this ask needs it, and auth_time 0 is no obstacle elsewhere',
  'S83 discovery follows one redirect within its origin, and no other',
  'S84 unknown fields of a request are named',
  'S85 a remote MCP resource gets no token through an authorization server that is not its own',
  'S86 a charge is asked about without a webhook and without its person',
  'S87 the operator is called for every change of passkeys, by pseudonym',
  'S88 a first passkey needs a sign-in for that payment, also where an application vouches for the person',
  'S89 what a person approves within a day stays within the limits of the operator',
  'S90 fetch sends an access token only to hosts of its API',
  'S91 a payment that the processor refuses to close is ended neither by its MCP server, its person nor its time',
  'S92 a revoked API key or removed MCP server loses access on reload',
  'S93 an endpoint of @postern/mcp answers no foreign web page and no request without the token that it needs',
  'S94 a session of an MCP client works for its user only, and sessions and bodies are bounded',
  'S95 a handler continues only with an accepted answer, unless it takes refusals',
  'S96 a scripted user never answers in production',
  'S97 a caller learns only about itself',
  'S98 the proof of a gateway needs the vault keys, and reveals nothing',
  'S99 postern check changes nothing and prints no secret',
  'S100 a refusal lists what the caller itself may ask, and nothing of others',
  'S101 signing out everywhere ends every session at once, listed or not',
  'S102 history and download show one person what is stored about them, and no secret',
  'S103 deletion needs a fresh sign-in, survives a crash and removes no passkey',
  'S112 an application that vouches for its users hides no browser session of theirs, and signs them in again for their data',
  'S104 open elicitations are limited per person and MCP server, and all are listed',
  'S105 a muted MCP server can ask nothing',
  'S106 a receipt is shown to its person only, and reading it changes nothing',
  'S107 images of the operator are checked when they are read, and cannot run or lead out of their folder',
  'S108 a reader chooses the language, from our own pages only, and others learn nothing from it',
  'S109 a text in several languages is checked and digested in each of them, and shown in one',
  'S110 a development key is read from private files of this user only, and goes to this machine only',
  'S115 a refund is made once per key',
  'S116 never more is paid back than was paid',
  'S117 refunds and disputes follow the report of the processor, in any order of its webhooks',
  'S111 the record of an approval names the language in which the user saw the terms',
  'S123 lists and counts of operators are complete, count each step once and name no person',
  'S125 an operator removes connections and ends browser sessions of one person, and of no other',
  'S126 export has no secret, and erase says what it leaves',
  'S127 disconnecting a provider finds every connection, since a time',
  'S124 an operator sees the data of a person only after the audit trail has recorded who looked and why',
  'S130 a revoked API key is refused on every replica, and its waits and streams end',
  'S131 keys of the store are refused while their list is too old',
  'S132 write access to Redis adds no API key',
  'S133 a back-channel logout ends browser sessions on every replica, once',
  'S134 a drained replica ends its waits, finishes its requests and leaves its work to the others',
  'S135 operators sign in at a client of their own, and without a role get no session',
  'S136 sessions of users and of operators never count for each other',
  'S137 each route of the console admits its roles only',
  'S138 operators find elicitations and their timelines, and looking at a person is recorded',
  'S139 pages of the console run nothing and contain no markup of others',
  'S140 an operator revokes an API key with a fresh sign-in and a reason',
  'S151 a dry run changes nothing, and a command refuses options that it does not have',
  'S159 keys rotate between files and key services in every direction, also with a killed command',
  'S142 a payment that completes no elicitation is paid back once where the policy says so',
  'S143 a refund survives a process killed at any point, and is made once',
  'S162 a refund of an operator is made once, through every door and after a kill',
  'S163 refunds of operators and MCP servers never exceed the payment, and an outdated plan pays nothing',
  'S164 who refunds and why is recorded first, and stays with the operators',
  'S165 the console pays back what its page has said, of an amount that can mean one thing only',
  'S166 a gateway makes the refunds that other processes have reserved',
  'S167 a person sees each refund with its time and status',
  'S144 each status of a dispute says whether the bank has the amount',
  'S145 the check names a key of a processor that may not refund',
  'S172 signing out ends the session here first, then offers the identity provider, without naming the user',
  'S173 the return from a sign-out at the identity provider counts once and changes nothing',
  'S174 operators sign out at the identity provider and are signed out by it, apart from users',
  'S175 a drained replica shows the console and the admin API, and exits with 0 on SIGTERM',
  'S141 with a processor the payee is registered, and its account gets the money and pays the refund',
  'S160 a key service that responds wrongly costs no value',
  'S161 a hanging or broken key service is a clear 503, named in the log, and stops nothing else',
  'S177 every audit event is a valid event of OCSF, with users as pseudonyms',
  'S178 every response of the admin API is described, and a generated client compiles',
  'S179 every change and every look at a person says who, through which door, and why',
  'S180 chart and Compose publish the admin API only inside the cluster or on the loopback address',
  'S182 pending refunds of one processor or MCP server leave a place for those of others',
  'S181 audit lines name the API key of the request by its id, also of a refused request whose key was recognised',
  'S168 the script of the console is one file of the gateway, stores nothing, and no page needs it',
  'S169 a console page that keeps itself up to date extends no session, and shows nothing of another page',
  'S170 refreshes are counted once, over all replicas',
  'S171 storage and ages of keys are reported without a key, and no age is invented',
  'S187 the button of a confirmation has our verb before the action of the MCP server, and the digest covers both',
  'S188 a grant that has ended at its provider ends here too, whatever its refusals say, and the user is asked',
  'S189 faults of the operator or the provider keep every grant and raise an alarm',
  'S190 a frozen replica never shares a rotating refresh token with another',
  'S191 harmless untidiness in documents of other parties is understood, and what is dangerous is refused',
  'S192 spellings of one scope by a configured rule only, and no other scope counts as granted',
  'S194 issuers are the same by their text or by the operator’s word, and tenants by a list',
  'S195 discovery passes over error pages, never over a document that names another issuer',
  'S196 additional members of a callback are those that the operator lists, never those of the protocol',
  'S197 patterns run on threads with a limit of processor time, and those of one MCP server delay no other',
  'S198 a fingerprint of a typed secret has a secret key',
  'S199 a page shows whatever is issued, open and approved, in every language',
  'S200 callers whom the gateway does not know cannot fill its memory',
  'S201 invented codes cost few requests to the identity provider, and prevent no sign-in of others',
  'S202 no web page reads the metrics by its own host name',
  'S203 records of invented users count as long as they are stored, and never keep a user from replacing or removing one',
  'S205 no number of lines of users and MCP servers pushes out what operators did',
  'S206 no key of an MCP server names the automatic refund',
  'S207 every key of Redis counts in a quota, has a fixed bound, or is written by operators',
  'S209 nothing that fails is green in the console, and a redelivery says how its deliveries ended',
  'S210 operators find records by what a user tells them, and a pasted secret gets into no URL, log or audit line',
  'S211 one recent sign-in is enough, and its time is that of a verified ID token',
  'S212 a form post is judged by Sec-Fetch-Site first: Origin null is accepted beside same-origin only',
  'S213 a provider response without state changes nothing and leads back',
  'S214 static files are compressed once per encoding, pages with a token never',
  'S215 the limits for a developer hold at a loopback address only, and a refusal by a limit names it',
  'S216 /me of a gateway for one machine declines what is open, and shows neither links nor contents of it',
  'S217 an MCP server that names no issuers gets those of the only identity provider, never one of several',
  'S218 API keys are added and revoked through the running gateway with the scope keys only',
  'S219 every run of a call asks with the same terms, and a payment is never asked for anew',
  'S220 a handler that does not await its asks fails, and they never settle',
  'S221 a form with fields that seem to ask for a secret opens as a page',
  'S222 mistakes in the code of an MCP server are reported to its author, without secrets',
  'S223 the decline of an MCP client ends the call, and no other request asks again',
  'S224 a result says that nothing was done only while the handler cannot have acted',
  'S225 only the client that began a grant serves it, and only a new grant registers one',
  'S226 no grant ends by metadata or members that its refresh does not need, or by one reading of another issuer',
  'S228 a call continues with answers of the same handler and arguments only, in every era',
  'S229 the hook for an own requestState accepts no forged state of ours, and none for another handler',
  'S230 a fixed subject is refused over HTTP outside of the endpoint that checks the source',
  'S231 what an MCP server sends makes its host busy within limits only',
  'S232 callers that do not read, or send a body in pieces, hold no place and little memory, known or not',
  'S233 idle connections of strangers keep no one out of any listener',
  'S250 a stdio server starts the gateway of its own person only, from beside its program, without its environment',
  'S251 the end of an MCP server or of the personal gateway harms no other, and the next ask starts it again',
  'S252 a personal gateway ends by itself, never with an open ask or anything else in progress',
  'S253 a newer release takes over an idle personal gateway, and never one in use',
  'S254 a command runs once, in the gateway that holds the store, with the files of its caller and not its environment',
  'S255 the local socket serves and is served by those who can read the key of its owner, in a folder of no one else',
  'S256 without an own verifier, an endpoint accepts access tokens for itself of the issuers at the gateway only, none while it cannot read them',
  'S260 a call that a rule of the proxy guards reaches the MCP server only after a yes, and once',
  'S261 a yes at the proxy is for the server, the tool as it is described, and the arguments',
  'S262 the proxy refuses messages that have two readings',
  'S263 what no rule names passes the proxy byte for byte',
  'S264 the MCP server behind the proxy gets no key of the gateway, and ends with the proxy',
  'S265 what no rule names passes the proxy byte for byte over HTTP, and no header but those of MCP',
  'S266 a session at the proxy belongs to the person who opened it, at every replica',
  'S267 each session at the proxy has a program of its own, and the programs are bounded',
  'S270 a call gets the accounts and keys of its person, as its rule says, after the person has agreed, and is sent once',
  'S271 a yes at the proxy is also for the accounts and keys that the server gets, and none goes after they have ended',
  'S272 no message to the MCP client and no log has a secret that the proxy gave to the MCP server, and no model fills it in',
  'S273 the proxy repeats a call only after an HTTP 401, or a tool error of a tool that is declared idempotent',
  'L6 fifty approvals at once on three processes, a thousand rounds',
];

const root = join(import.meta.dirname, '..');

function testFiles(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap(entry => {
    if (entry.name === 'node_modules' || entry.name.startsWith('.')) return [];
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return testFiles(path);
    return entry.name.endsWith('.test.ts') && path !== import.meta.filename ? [path] : [];
  });
}

/** First arguments of `describe`, `it` and their variants; the short run leaves out those of `inFull`. */
const TITLE =
  /\b(inFull\.)?(?:describe|it|test)(?:\.[a-z]+)*(?:\([^'"`]*\))?\(\s*(['"`])((?:(?!\2)[\s\S])*)\2|\]\)\(\s*(['"`])((?:(?!\4)[\s\S])*)\4/g;

const isSlow = (path: string) => /\.slow\.test\.ts$/.test(path);

/** Items that only `test --all` shows; the short run shows every other. */
const onlyInFull: readonly string[] = ['L6', 'S251', 'S253', 'S267'];

describe('the acceptance list', () => {
  const titles = ['packages', 'services', 'tools', 'test', 'infra', 'scripts']
    .flatMap(directory => testFiles(join(root, directory)))
    .flatMap(path =>
      [...readFileSync(path, 'utf8').matchAll(TITLE)].map(match => ({
        path,
        title: match[3] ?? match[5] ?? '',
        isSlow: isSlow(path) || match[1] !== undefined,
      })),
    );

  it.each(covered)('%s', item => {
    const [id = ''] = item.split(' ', 1);
    const citing = titles.filter(({ title }) => new RegExp(`\\b${id}\\b`).test(title));
    expect(citing).not.toEqual([]);
    expect(citing.every(title => title.isSlow)).toBe(onlyInFull.includes(id));
  });

  it('every row of "Impact of a theft" in SECURITY.md names a test that cites its id', () => {
    const [, table = ''] = readFileSync(join(root, 'SECURITY.md'), 'utf8').split('## Impact of a theft');
    const rows = table.split('\n## ', 1)[0]?.match(/^\| (?!stolen).*$/gm) ?? [];
    expect(rows.length).toBeGreaterThan(5);
    for (const row of rows) {
      const named = [...(row.split(' | ').at(-1) ?? '').matchAll(/\[(S\d\d\d?)\]\(([^)]+)\)/g)];
      expect(named, row).not.toEqual([]);
      for (const [, id = '', path = ''] of named) {
        const found = titles.filter(title => title.path === join(root, path) && title.title.includes(id));
        expect(found, `${id} ${path}`).not.toEqual([]);
      }
    }
  });
});
