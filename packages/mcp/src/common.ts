/** Exports of both entry points. */

export type { AnswerIn, AnswerTo, Cancelled, Declined, RefusalMode, TakenOnce } from './answer.ts';
export type { ApiFetch } from './api-fetch.ts';
export type {
  Approved,
  Confirmation,
  ConfirmationAccepted,
  ConfirmationTerms,
  Payment,
  PaymentAccepted,
  PaymentTerms,
} from './approvals.ts';
export type { AskOptions } from './ask.ts';
export type { AccessTokenOptions, Authorization, AuthorizationAccepted, AuthorizeOptions } from './authorize.ts';
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
export type { Form, FormAccepted, FormOptions, FormVerb, OneValue, OneValueAccepted, YesNoVerb } from './form.ts';
export type { FormInput, FormOutput, FormSchema } from './form-schema.ts';
export type {
  AccountRequests,
  Gated,
  GatedHandler,
  GatedResource,
  GenericGate,
  HandlerOptions,
  ResourceVariables,
  SdkTypes,
  StdioConnection,
} from './gate.ts';
export {
  type GateCaller,
  GateCheckError,
  type GateFault,
  type GateFaultCode,
  type GateReport,
} from './gate-check.ts';
export type { ClientModes, GateContext, Verbs } from './gate-context.ts';
export type { PrivateKeyAuth } from './gateway-auth.ts';
export type { EndpointAuth, VerifiedToken } from './http/bearer.ts';
export type { Connection, CreateServer, EndpointOptions, McpEndpoint } from './http/endpoint.ts';
export type { NodeHandler, NodeRequest } from './http/node-handler.ts';
export type { RequestInputs } from './http/sessions.ts';
export type { SharedSessions, WatchedElicitation } from './legacy-session.ts';
export { ProgrammingError } from './mistakes.ts';
export type { MissingCapability, PosternOptions } from './options.ts';
export {
  type ApprovedConfirmationTerms,
  type ApprovedPaymentTerms,
  type Receipt,
  type ReceiptKind,
  type ReceiptOf,
  type ReceiptTerms,
  termsDigest,
} from './receipt/receipt-claims.ts';
export { ReceiptError, type ReceiptErrorCode } from './receipt/receipt-error.ts';
export type { ReceiptExpectations } from './receipt/receipt-expectations.ts';
export {
  createReceiptVerifier,
  type ReceiptVerifier,
  type ReceiptVerifierOptions,
} from './receipt/receipt-verifier.ts';
export type { Refund, RefundOptions } from './refund.ts';
export type { StateKey } from './request-state.ts';
export type { Subject, SubjectOption } from './subject.ts';
export { isElicitationPending } from './suspension.ts';
export { type About, englishTexts, type TextContext, type TextFunction } from './texts.ts';
export {
  AUTHORIZATION_META_KEY,
  ELICITATION_ERROR_CODE,
  ELICITATION_META_KEY,
  type PlainToolResult,
} from './tool-call.ts';
