/**
 * The seam for MCP frameworks that wrap an SDK. An adapter supplies an `SdkAdapter`, and gets a gate with the framework's types from
 * `createGate`.
 */

export {
  ElicitationFailedError,
  ElicitationTimeoutError,
  GatewayError,
  type InvalidRequestStateError,
  PosternUsageError,
  SubjectUnavailableError,
} from './errors.ts';
export { createGate } from './gate/create-gate.ts';
export { createEnvironment, type PosternOptions } from './gate/environment.ts';
export type { ErrorAnswer, GenericGate, SdkAdapter, SdkTypes } from './gate/gate.ts';
export type { TraceContext } from './gateway/client.ts';
export { Admission, type AdmissionOptions, type RequestInputs } from './http/admission.ts';
export type { VerifiedToken } from './http/bearer.ts';
export { toNodeHandler } from './http/endpoint.ts';
export {
  AUTHORIZATION_META_KEY,
  type AuthInfo,
  type ClientAction,
  type ClientAnswer,
  type ConnectedServer,
  clientAnswerSchema,
  createSessionOf,
  declaresForm,
  envelopeOf,
  type FormAsk,
  type LegacySession,
  type LegacySessionCall,
  type LegacyStatelessCall,
  type ModernCall,
  type PlainToolResult,
  type SessionOf,
  type ToolAnswer,
  type ToolCall,
  textIn,
  traceContextOf,
  type UrlElicitation,
} from './run/tool-call.ts';
