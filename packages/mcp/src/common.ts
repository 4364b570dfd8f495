/** What both entry points of the package offer. */

export type { AnswerTo, Cancelled, Declined, TakenOnce } from './answers.ts';
export type { ApiFetch } from './api-fetch.ts';
export type { Approved } from './approved.ts';
export type { AskOptions } from './ask.ts';
export type { Authorization, AuthorizationAccepted, AuthorizeOptions } from './authorize.ts';
export type { WatchedElicitation } from './completion-waiters.ts';
export type { Confirmation, ConfirmationAccepted, ConfirmationTerms } from './confirm.ts';
export type { AccessTokenOptions } from './connected-account.ts';
export type {
  Credential,
  CredentialAccepted,
  CredentialRequest,
  CredentialVerb,
  LastingCredential,
  LastingCredentialAccepted,
} from './credential.ts';
export {
  CapabilityMissingError,
  ElicitationFailedError,
  type ElicitationFailureCode,
  ElicitationTimeoutError,
  FormContentError,
  type FormContentFault,
  GatewayError,
  type GatewayTransportCode,
  PosternUsageError,
  SubjectUnavailableError,
  type UsageErrorCode,
} from './errors.ts';
export type { Form, FormAccepted, FormOptions, FormVerb, OneValue } from './form.ts';
export type { GatedTool, GatedToolOptions, GenericGate } from './gate.ts';
export type { GateContext } from './gate-context.ts';
export type { PrivateKeyAuth } from './gateway-auth.ts';
export type { PosternOptions } from './options.ts';
export type { Payment, PaymentAccepted, PaymentTerms } from './pay.ts';
export * from './receipt/index.ts';
export type { StateKey } from './request-state.ts';
export type { SharedSessions } from './shared-sessions.ts';
export type { Subject, SubjectOption } from './subject.ts';
export { isElicitationPending } from './suspension.ts';
export { type About, englishTexts, type TextContext, type TextFunction } from './texts.ts';
export { ELICITATION_META_KEY, type PlainToolResult } from './tool-result.ts';
