/**
 * The seam for MCP frameworks that wrap an SDK. An adapter supplies an `SdkAdapter`, and gets a gate with the framework's types from
 * `createGate`.
 */
export { createGate } from './create-gate.ts';
export type { InvalidRequestStateError } from './errors.ts';
export type { ErrorAnswer, GenericGate, SdkAdapter, SdkTypes } from './gate.ts';
export { type ConnectedServer, createSessionOf, type LegacySession, type SessionOf } from './legacy-session.ts';
export type { PosternOptions } from './options.ts';
export type { AuthInfo } from './subject.ts';
export {
  type ClientAction,
  type ClientAnswer,
  declaresForm,
  type FormAsk,
  type LegacySessionCall,
  type LegacyStatelessCall,
  type ModernCall,
  type PlainToolResult,
  type ToolAnswer,
  type ToolCall,
  type TraceContext,
  textIn,
  traceContextOf,
  type UrlElicitation,
} from './tool-call.ts';
