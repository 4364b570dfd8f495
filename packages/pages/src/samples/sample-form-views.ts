/** Sample views of forms, with ordinary and extreme content. */
import type { FormFieldView } from '../field-views.ts';
import { longMcpServer, longWord, sampleConnect } from './sample-views.ts';

const { authorization: _authorization, ...decision } = sampleConnect;

const colours = [
  { value: 'red', title: { en: 'Red', de: 'Rot' } },
  { value: 'green', title: { en: 'Green', de: 'Grün' } },
  { value: 'blue', title: { en: 'Blue', de: 'Blau' } },
];
const cities = ['Accra', 'Bergen', 'Cusco', 'Da Nang', 'Esbjerg', 'Fukuoka', 'Galway'].map(title => ({
  value: title,
  title,
}));

const travelFields = [
  {
    control: 'text',
    name: 'name',
    label: { en: 'Full name', de: 'Vor- und Nachname' },
    required: true,
    minLength: 2,
    maxLength: 80,
  },
  {
    control: 'text',
    name: 'email',
    label: { en: 'Email', de: 'E-Mail' },
    description: {
      en: 'The tickets are sent to this address.',
      de: 'Die Fahrkarten gehen an diese Adresse.',
    },
    required: true,
    format: 'email',
    value: 'ada@northwind.example',
  },
  {
    control: 'integer',
    name: 'travellers',
    label: { en: 'Travellers', de: 'Reisende' },
    required: true,
    minimum: 1,
    maximum: 8,
    value: '2',
  },
  {
    control: 'text',
    name: 'leaving',
    label: { en: 'Day of departure', de: 'Tag der Abreise' },
    required: true,
    format: 'date',
  },
  {
    control: 'text',
    name: 'arrival',
    label: { en: 'Latest arrival', de: 'Späteste Ankunft' },
    required: false,
    format: 'date-time',
    value: ['2026-03-14T18:30', '+01:00'],
  },
  {
    control: 'select',
    name: 'class',
    label: { en: 'Seat', de: 'Sitzplatz' },
    required: true,
    options: colours,
    value: 'green',
  },
  { control: 'select', name: 'city', label: { en: 'City', de: 'Stadt' }, required: true, options: cities },
  {
    control: 'select',
    name: 'meal',
    label: { en: 'Meal', de: 'Mahlzeit' },
    required: false,
    options: colours.slice(0, 2),
  },
  {
    control: 'multi-select',
    name: 'extras',
    label: { en: 'Extras', de: 'Extras' },
    description: { en: 'Each costs a little more.', de: 'Jedes kostet etwas mehr.' },
    required: true,
    options: colours,
    minItems: 1,
    maxItems: 2,
    values: ['red'],
  },
  {
    control: 'number',
    name: 'budget',
    label: { en: 'Budget in euro', de: 'Budget in Euro' },
    required: false,
    minimum: 0.5,
  },
  {
    control: 'text',
    name: 'page',
    label: { en: 'Web page of the hotel', de: 'Website des Hotels' },
    required: false,
    format: 'uri',
  },
  {
    control: 'text',
    name: 'notes',
    label: { en: 'Notes', de: 'Anmerkungen' },
    required: false,
    maxLength: 1000,
    value: 'First line\nSecond line',
  },
  {
    control: 'boolean',
    name: 'window',
    label: { en: 'I want to sit at the window', de: 'Ich möchte am Fenster sitzen' },
    required: true,
    value: true,
  },
] satisfies FormFieldView[];

export const sampleForm = {
  ...decision,
  shown: 'shown-value',
  message: {
    en: 'I need a few details before I can look for a train.',
    de: 'Ich brauche ein paar Angaben, bevor ich einen Zug suchen kann.',
  },
  requestedBy: { mcpClient: 'Desk Assistant', tool: 'find_train' },
  form: { title: { en: 'Your journey', de: 'Ihre Reise' }, fields: travelFields as readonly FormFieldView[] },
};

const yesNo = { control: 'yes-no', name: 'value', required: true } as const;
export const yesNoForm = {
  ...sampleForm,
  form: {
    fields: [
      {
        ...yesNo,
        label: { en: 'Release the branch main now?', de: 'Den Branch main jetzt veröffentlichen?' },
        description: { en: 'It goes to all users at once.', de: 'Alle Nutzer erhalten ihn sofort.' },
      },
    ] satisfies FormFieldView[],
  },
};
export const extremeYesNoForm = {
  ...sampleForm,
  notice: 'fields_invalid' as const,
  form: { fields: [{ ...yesNo, label: longWord, description: longWord, fault: 'missing' }] satisfies FormFieldView[] },
};

export const faultyForm = {
  ...sampleForm,
  notice: 'fields_invalid' as const,
  form: {
    ...sampleForm.form,
    fields: [
      {
        control: 'text',
        name: 'name',
        label: { en: 'Full name', de: 'Vor- und Nachname' },
        required: true,
        minLength: 2,
        fault: 'missing',
      },
      {
        control: 'text',
        name: 'email',
        label: { en: 'Email', de: 'E-Mail' },
        required: true,
        format: 'email',
        value: 'ada at northwind',
        fault: 'format',
      },
      {
        control: 'integer',
        name: 'travellers',
        label: { en: 'Travellers', de: 'Reisende' },
        required: true,
        minimum: 1,
        maximum: 8,
        value: '12',
        fault: 'maximum',
      },
      {
        control: 'number',
        name: 'budget',
        label: { en: 'Budget in euro', de: 'Budget in Euro' },
        required: false,
        value: '1,500',
        fault: 'type',
      },
      {
        control: 'text',
        name: 'arrival',
        label: { en: 'Latest arrival', de: 'Späteste Ankunft' },
        required: false,
        format: 'date-time',
        value: ['', 'Z'],
        fault: 'format',
      },
      {
        control: 'select',
        name: 'class',
        label: { en: 'Seat', de: 'Sitzplatz' },
        required: true,
        options: colours,
        fault: 'missing',
      },
      {
        control: 'select',
        name: 'city',
        label: { en: 'City', de: 'Stadt' },
        required: true,
        options: cities,
        fault: 'missing',
      },
      {
        control: 'multi-select',
        name: 'extras',
        label: { en: 'Extras', de: 'Extras' },
        required: true,
        options: colours,
        maxItems: 2,
        values: ['red', 'green', 'blue'],
        fault: 'too_many',
      },
      {
        control: 'boolean',
        name: 'window',
        label: { en: 'I want to sit at the window', de: 'Ich möchte am Fenster sitzen' },
        required: true,
        fault: 'type',
      },
    ] satisfies FormFieldView[],
  },
};

export const secretForm = {
  ...sampleForm,
  form: {
    fields: [
      { control: 'text', name: 'account', label: 'Account number', required: true, value: '4711' },
      { control: 'text', name: 'pin', label: 'PIN', required: true, secret: true },
      { control: 'text', name: 'key', label: 'Signing key', required: false, secret: true, maxLength: 4000 },
    ] satisfies FormFieldView[],
  },
};

const longOptions = Array.from({ length: 6 }, (_, index) => ({ value: `${index}`, title: `${longWord}${index}` }));

export const extremeForm = {
  ...sampleForm,
  mcpServer: longMcpServer,
  notice: 'fields_invalid' as const,
  form: {
    title: longWord,
    fields: [
      { control: 'text', name: 'a', label: longWord, description: longWord, required: false, fault: 'too_long' },
      { control: 'select', name: 'b', label: longWord, required: false, options: longOptions, fault: 'not_an_option' },
      { control: 'select', name: 'c', label: longWord, required: false, options: longOptions.slice(0, 3) },
      {
        control: 'multi-select',
        name: 'd',
        label: longWord,
        required: false,
        options: longOptions,
        minItems: 6,
        fault: 'too_few',
      },
      { control: 'number', name: 'e', label: longWord, required: false, minimum: -1e300, maximum: 1e-20 },
      { control: 'boolean', name: 'f', label: longWord, description: longWord, required: false },
      {
        control: 'text',
        name: 'g',
        label: longWord,
        required: false,
        format: 'date-time',
        value: ['2026-03-04T14:32:00', '+23:59'],
      },
    ] satisfies FormFieldView[],
  },
};
