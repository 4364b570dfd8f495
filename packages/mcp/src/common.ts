/** What both entry points of the package offer. */
export type { ApiFetch } from './api-fetch.ts';
export type { AuthorizeOptions } from './ask.ts';
export type {
  Authorization,
  AuthorizationAccepted,
  AuthorizationCancelled,
  AuthorizationDeclined,
  GateContext,
} from './authorize.ts';
export type { AccessTokenOptions } from './connected-account.ts';
export {
  ElicitationFailedError,
  type ElicitationFailureCode,
  GatewayError,
  type GatewayTransportCode,
  PosternUsageError,
  SubjectUnavailableError,
  type UsageErrorCode,
} from './errors.ts';
export type { GatedTool, GatedToolOptions, GenericGate } from './gate.ts';
export type { PrivateKeyAuth } from './gateway-auth.ts';
export type { PosternOptions } from './options.ts';
export type { StateKey } from './request-state.ts';
export type { Subject, SubjectOption } from './subject.ts';
export { isElicitationPending } from './suspension.ts';
export { englishTexts, type TextContext, type TextFunction } from './texts.ts';
export { ELICITATION_META_KEY, type PlainToolResult } from './tool-result.ts';
