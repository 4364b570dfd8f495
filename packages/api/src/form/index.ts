export * from './form-request.ts';
export * from './requested-schema.ts';
export { type FormFaultCode, type FormValue, formFaultCodes, MAX_FORM_TEXT_LENGTH } from './value-fault.ts';
