/** Exports of both entry points. */

export type { FormInput, FormOutput, FormSchema } from './ask/form-schema.ts';
export type {
  AccessTokenOptions,
  AnswerIn,
  AnswerTo,
  ApiFetch,
  Approved,
  AskOptions,
  Authorization,
  AuthorizationAccepted,
  AuthorizeOptions,
  Cancelled,
  ClientModes,
  Confirmation,
  ConfirmationAccepted,
  ConfirmationTerms,
  ConfirmOptions,
  Credential,
  CredentialAccepted,
  CredentialRequest,
  CredentialVerb,
  Declined,
  Form,
  FormAccepted,
  FormOptions,
  FormVerb,
  GateContext,
  LastingCredential,
  LastingCredentialAccepted,
  OneValue,
  OneValueAccepted,
  Payment,
  PaymentAccepted,
  PaymentTerms,
  Refund,
  RefundOptions,
  RefusalMode,
  TakenOnce,
  Verbs,
  YesNoVerb,
} from './ask/verbs.ts';
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
export type { PosternOptions } from './gate/environment.ts';
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
} from './gate/gate.ts';
export type { PrivateKeyAuth, Subject } from './gateway/client.ts';
export {
  type GateCaller,
  GateCheckError,
  type GateFault,
  type GateFaultCode,
  type GateReport,
} from './gateway/gate-check.ts';
export type { RequestInputs } from './http/admission.ts';
export type { EndpointAuth, VerifiedToken } from './http/bearer.ts';
export type {
  Connection,
  CreateServer,
  EndpointOptions,
  McpEndpoint,
  NodeHandler,
  NodeRequest,
} from './http/endpoint.ts';
export { ProgrammingError } from './mistakes.ts';
export {
  type ApprovedConfirmationTerms,
  type ApprovedPaymentTerms,
  argumentsDigest,
  type Receipt,
  type ReceiptKind,
  type ReceiptOf,
  type ReceiptTerms,
  termsDigest,
} from './receipt/claims.ts';
export {
  createReceiptVerifier,
  ReceiptError,
  type ReceiptErrorCode,
  type ReceiptExpectations,
  type ReceiptVerifier,
  type ReceiptVerifierOptions,
} from './receipt/verifier.ts';
export type { StateKey } from './run/request-state.ts';
export type { MissingCapability } from './run/run.ts';
export {
  AUTHORIZATION_META_KEY,
  ELICITATION_ERROR_CODE,
  ELICITATION_META_KEY,
  isElicitationPending,
  type PlainToolResult,
  type SharedSessions,
  type SubjectOption,
  type WatchedElicitation,
} from './run/tool-call.ts';
export { type About, englishTexts, type TextContext, type TextFunction } from './texts.ts';
