/** Exports shared by both entry points of the package. */
export { looksSecret, mentionsSecret } from '@postern/api';
export type { FulfilInput, OtherInputRequest } from './calls/input-rounds.ts';
export type { CallLimits } from './calls/limits.ts';
export { type CiAnswer, type CiConfiguration, type CiHandlerOptions, createCiHandler } from './ci-handler.ts';
export { type Clock, systemClock } from './clock.ts';
export { firstOf, type RateLimit, rateLimited, when } from './compose.ts';
export type {
  AwaitedUrl,
  CompletionPrompt,
  ElicitationAction,
  ElicitationAnswer,
  ElicitationContext,
  ElicitationHandler,
  ElicitationRequest,
  FormElicitation,
  McpServerIdentity,
  OptionalElicitationHandler,
  UrlElicitation,
} from './elicitation.ts';
export { ElicitationRefusedError, HostError, type HostErrorCode, type RefusedToolResult } from './errors.ts';
export {
  type ElicitationCapabilities,
  type ElicitationMode,
  elicitationCapabilities,
  type HostOptions,
} from './host-options.ts';
export { inertLine, inertLines } from './inert.ts';
export {
  accept,
  cancel,
  checkAnswer,
  decline,
  formRequest,
  parseElicitation,
  readUrlElicitationRequired,
  toElicitRequest,
  URL_ELICITATION_REQUIRED,
  urlElicitationRequiredError,
  urlRequest,
} from './requests.ts';
export { createTerminal, type Terminal, type TerminalOptions } from './terminal/terminal.ts';
export { type InspectedUrl, inspectUrl, MAX_URL_LENGTH, type UrlWarning } from './url/inspect-url.ts';
export { type BrowserOptions, type OpenUrl, systemBrowser } from './url/open-in-browser.ts';
