export type {
  AmountView,
  ConfirmationFactsView,
  FactView,
  PaymentFactsView,
  PaymentItemView,
  SignInAgain,
} from './approval-views.ts';
export { type Colour, parseColour } from './colour.ts';
export type { DecisionView } from './decision-page.ts';
export { displayHost } from './display-host.ts';
export type { CredentialFieldView, FieldFault, FormFieldView, OptionView } from './field-views.ts';
export { type Html, html } from './html.ts';
export { type Locale, locales, negotiateLocale } from './locale.ts';
export type {
  CredentialItemView,
  LastUseView,
  PasskeyItemView,
  WaitingAbout,
  WaitingView,
} from './me-entries.ts';
export { pageHeaders, passkeyPageHeaders } from './page-headers.ts';
export { type ChargeNotice, type ChargeView, chargePage } from './pages/charge-page.ts';
export { type ConfirmationView, confirmationPage } from './pages/confirmation-page.ts';
export { type ConfirmedView, confirmedPage } from './pages/confirmed-page.ts';
export { type ConnectNotice, type ConnectView, connectPage } from './pages/connect-page.ts';
export { type CredentialNotice, type CredentialView, credentialPage } from './pages/credential-page.ts';
export {
  type CredentialDeletedView,
  credentialDeletedPage,
  type DeleteCredentialView,
  deleteCredentialPage,
  type SavedCredentialView,
} from './pages/delete-credential-pages.ts';
export { type DeviceNotice, type DeviceView, devicePage } from './pages/device-page.ts';
export {
  type DisconnectedView,
  type DisconnectView,
  disconnectedPage,
  disconnectPage,
} from './pages/disconnect-pages.ts';
export { type DoneView, donePage } from './pages/done-page.ts';
export {
  type DeclinedView,
  declinedPage,
  type EndedView,
  endedPage,
  type WorkingView,
  workingPage,
} from './pages/ended-pages.ts';
export {
  type CredentialDoneView,
  credentialDonePage,
  type FormDoneView,
  formDonePage,
} from './pages/entered-pages.ts';
export { type FormNotice, type FormView, formPage } from './pages/form-page.ts';
export { type LeavingView, leavingPage } from './pages/leaving-page.ts';
export { type ConnectionView, type MeView, mePage } from './pages/me-page.ts';
export {
  type AddPasskeyView,
  addPasskeyPage,
  type PasskeyRemovedView,
  passkeyRemovedPage,
  type RemovePasskeyView,
  removePasskeyPage,
} from './pages/passkey-change-pages.ts';
export { type PasskeyView, passkeyPage } from './pages/passkey-page.ts';
export { type PasskeySignInView, passkeySignInPage } from './pages/passkey-sign-in-page.ts';
export { type PasskeyWaitView, passkeyWaitPage } from './pages/passkey-wait-page.ts';
export { type PaymentDoneView, paymentDonePage } from './pages/payment-done-page.ts';
export { type PaymentNotice, type PaymentView, paymentPage } from './pages/payment-page.ts';
export {
  type ErrorView,
  errorPage,
  notFoundPage,
  type WrongPersonView,
  wrongBrowserPage,
  wrongPersonPage,
} from './pages/refusal-pages.ts';
export {
  type SignInChoice,
  type SignInFailedView,
  type SignInView,
  signedOutPage,
  signInFailedPage,
  signInPage,
} from './pages/sign-in-pages.ts';
export { passkeyScript } from './passkey-script.ts';
export { stylesheet } from './stylesheet.ts';
export type {
  AuthorizationView,
  Branding,
  ConnectedAccountView,
  McpServerView,
  PageContext,
  PersonView,
  RequestedByView,
  RequestedScopeView,
  ScopeView,
} from './views.ts';
