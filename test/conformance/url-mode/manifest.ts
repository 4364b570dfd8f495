import { kindsManifest } from './kinds-manifest.ts';
import type { Requirement } from './requirement.ts';

const spec = (page: string) => `https://modelcontextprotocol.io/specification/${page}`;
const LEGACY = spec('2025-11-25/client/elicitation');
const MODERN = spec('2026-07-28/client/elicitation');
const MRTR = spec('2026-07-28/basic/patterns/mrtr');
const BASIC = spec('2026-07-28/basic');
const HTTP = spec('2026-07-28/basic/transports/streamable-http');

/**
 * What URL-mode elicitation demands of an MCP server as seen with our gateway, and what Postern promises on top. One scenario each. What
 * every MCP server must keep to is in `@postern/conformance`.
 */
export const manifest: readonly Requirement[] = [
  {
    id: 'url-mode:modern:request-shape',
    level: 'MUST',
    text: 'input_required carries one elicitation/create with mode, message and url, no elicitationId, and a requestState',
    spec: `${MODERN}#url-mode-elicitation-requests`,
  },
  {
    id: 'url-mode:modern:no-url-required-error',
    level: 'MUST NOT',
    text: '−32042 is never emitted, whatever was declared and however the MCP server is configured',
    spec: `${BASIC}#error-codes`,
  },
  {
    id: 'url-mode:modern:capability-plain',
    level: 'MUST NOT',
    text: 'a request that does not declare elicitation.url gets no URL-mode request but a plain result with the link',
    spec: `${MODERN}#capabilities`,
  },
  {
    id: 'url-mode:modern:capability-error',
    level: 'MAY',
    text: 'or, so configured, −32021 with HTTP 400 and the capability that is missing',
    spec: `${BASIC}#error-codes`,
  },
  {
    id: 'url-mode:modern:held-retry',
    level: 'ours',
    text: 'the retry blocks until the user is done and then answers, with progress for a progress token',
    spec: `${MODERN}#url-mode-flow`,
  },
  {
    id: 'url-mode:modern:state-only-round',
    level: 'MAY',
    text: 'a retry that cannot wait longer is answered with requestState alone, and the next one goes on from there',
    spec: `${MRTR}#server-requirements-basic-workflow`,
  },
  {
    id: 'url-mode:modern:round-cap',
    level: 'ours',
    text: 'before MCP clients give up counting rounds the call ends with a plain result that names the page',
    spec: `${MRTR}#server-requirements-basic-workflow`,
  },
  {
    id: 'url-mode:modern:accept-is-consent-only',
    level: 'MUST',
    text: 'accept says that the user agreed to open the URL: without the browser part nothing is completed',
    spec: `${MODERN}#response-actions`,
  },
  {
    id: 'url-mode:modern:client-refusal',
    level: 'MUST',
    text: 'decline and cancel of the MCP client reach the tool and leave the elicitation open',
    spec: `${MODERN}#error-handling`,
  },
  {
    id: 'url-mode:modern:stored-status-wins',
    level: 'ours',
    text: 'an MCP client that answers decline for a user who has finished changes nothing about it',
    spec: `${MODERN}#response-actions`,
  },
  {
    id: 'url-mode:modern:outcomes',
    level: 'MUST',
    text: 'completed, declined, cancelled, expired and failed each reach the tool as what they are',
    spec: `${MODERN}#error-handling`,
  },
  {
    id: 'url-mode:modern:tampered-state',
    level: 'MUST',
    text: 'a requestState that was altered anywhere is rejected with −32602',
    spec: `${MRTR}#security-considerations`,
  },
  {
    id: 'url-mode:modern:foreign-state',
    level: 'MUST',
    text: 'a requestState sealed with another key is rejected with −32602',
    spec: `${MRTR}#security-considerations`,
  },
  {
    id: 'url-mode:modern:other-tool',
    level: 'SHOULD',
    text: "another tool's requestState is rejected with −32602",
    spec: `${MRTR}#security-considerations`,
  },
  {
    id: 'url-mode:modern:expired-state',
    level: 'SHOULD',
    text: 'a requestState past its expiry is rejected with −32602',
    spec: `${MRTR}#security-considerations`,
  },
  {
    id: 'url-mode:modern:replay',
    level: 'MUST',
    text: 'a spent requestState reads the truth again and has no second effect at gateway or provider',
    spec: `${MRTR}#security-considerations`,
  },
  {
    id: 'url-mode:modern:disconnect',
    level: 'MUST',
    text: 'an MCP client that hangs up ends the waiting, not the elicitation',
    spec: `${HTTP}#cancellation`,
  },
  {
    id: 'url-mode:modern:parallel-calls',
    level: 'ours',
    text: 'parallel calls for the same connection ask the user once',
    spec: `${MODERN}#url-mode-flow`,
  },
  {
    id: 'url-mode:modern:not-asked-again',
    level: 'ours',
    text: 'once completed, neither the retry nor a new call asks again',
    spec: `${MODERN}#url-mode-flow`,
  },
  {
    id: 'url-mode:modern:official-client',
    level: 'ours',
    text: 'the official SDK client goes through it with one question to the user',
    spec: `${MRTR}#server-requirements-basic-workflow`,
  },
  {
    id: 'url-mode:legacy:url-required-error',
    level: 'MUST',
    text: '−32042 lists the elicitation with mode, elicitationId, url and message, and data holds nothing else',
    spec: `${LEGACY}#url-elicitation-required-error`,
  },
  {
    id: 'url-mode:legacy:url-required-error-only-if-declared',
    level: 'MUST NOT',
    text: 'an MCP client that did not declare elicitation.url gets a plain result instead of −32042',
    spec: `${LEGACY}#capabilities`,
  },
  {
    id: 'url-mode:legacy:stateless',
    level: 'MUST NOT',
    text: 'without a session the capabilities are unknown: −32042 only where the operator vouches for them',
    spec: `${LEGACY}#capabilities`,
  },
  {
    id: 'url-mode:legacy:push-shape',
    level: 'MUST',
    text: 'the pushed elicitation/create has mode, message, url and the elicitationId of the gateway',
    spec: `${LEGACY}#url-mode-elicitation-requests`,
  },
  {
    id: 'url-mode:legacy:push-only-if-declared',
    level: 'MUST NOT',
    text: 'nothing is pushed to an MCP client that did not declare elicitation.url',
    spec: `${LEGACY}#capabilities`,
  },
  {
    id: 'url-mode:legacy:push-accept-is-consent-only',
    level: 'MUST',
    text: 'after accept the call goes on only when the gateway says that the user is done',
    spec: `${LEGACY}#response-actions`,
  },
  {
    id: 'url-mode:legacy:push-client-refusal',
    level: 'SHOULD',
    text: 'decline and cancel of the MCP client reach the tool and leave the elicitation open',
    spec: `${LEGACY}#response-actions`,
  },
  {
    id: 'url-mode:legacy:completion-to-initiator-once',
    level: 'MUST',
    text: 'the completion notice goes once, with the original id, to the MCP session that was asked and to no other',
    spec: `${LEGACY}#completion-notifications-for-url-mode-elicitation`,
  },
  {
    id: 'url-mode:legacy:completion-for-every-end',
    level: 'ours',
    text: 'the notice comes for every terminal status, and the retried call tells the tool which',
    spec: `${LEGACY}#completion-notifications-for-url-mode-elicitation`,
  },
  {
    id: 'url-mode:legacy:not-asked-again',
    level: 'ours',
    text: 'the retry after completion is answered with the result, never with the same URL again',
    spec: `${LEGACY}#url-elicitation-required-error`,
  },
  {
    id: 'url-mode:url:opaque',
    level: 'MUST NOT',
    text: 'the URL carries nothing but a random id, in both eras',
    spec: `${MODERN}#safe-url-handling`,
  },
  {
    id: 'url-mode:url:get-changes-nothing',
    level: 'MUST NOT',
    text: 'fetching the URL, signed in or not, completes, declines and writes nothing',
    spec: `${LEGACY}#safe-url-handling`,
  },
  {
    id: 'url-mode:url:same-person',
    level: 'MUST',
    text: 'another user who opens the URL can neither finish nor end it, and the one it is for still can',
    spec: `${MODERN}#phishing`,
  },
  {
    id: 'url-mode:credentials:stay-out',
    level: 'MUST NOT',
    text: 'no third-party credential and no credential of the MCP server is in any MCP message, in either era',
    spec: `${MODERN}#url-mode-elicitation-for-oauth-flows`,
  },
  ...kindsManifest,
];
