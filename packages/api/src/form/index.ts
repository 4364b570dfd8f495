export {
  type FormContent,
  type FormContentResult,
  type FormFault,
  parseFormContent,
} from './form-content.ts';
export { contentFromFields, defaultContent, type FormFields, fieldsFromContent } from './form-fields.ts';
export * from './form-request.ts';
export { type FormTexts, formTextsSchema, type PropertyTexts, schemaWithTexts } from './form-texts.ts';
export * from './property-schema.ts';
export * from './requested-schema.ts';
export {
  type FormFaultCode,
  type FormValue,
  formFaultCodes,
  MAX_FORM_TEXT_LENGTH,
  optionValuesOf,
  type PatternMatcher,
} from './value-fault.ts';
