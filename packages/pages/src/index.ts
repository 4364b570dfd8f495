export type {
  AmountView,
  ConfirmationFactsView,
  FactView,
  PaymentFactsView,
} from './approval-views.ts';
export type { DecisionView } from './decision-page.ts';
export { displayHost } from './display-host.ts';
export { drawnIcon } from './drawn-icon.ts';
export type { FieldFault, FormFieldView, OptionView } from './field-views.ts';
export { type ForeignText, foreignPlain, type TextIn } from './foreign-text.ts';
export { languagePath } from './language-switcher.ts';
export { chooseLocale, type Locale, loadLanguage, locales } from './languages/languages.ts';
export type { WatchView } from './live-parts.ts';
export type {
  CredentialItemView,
  LastUseView,
  PasskeyItemView,
  WaitingAbout,
  WaitingView,
} from './me-entries.ts';
export type { MutedView } from './me-muted.ts';
export { pageHeaders } from './page-headers.ts';
export { createPageScript, formsPart, pageScript } from './page-script.ts';
export { browsersPage, signedOutEverywherePage } from './pages/browsers-pages.ts';
export { type ChargeNotice, type ChargeView, chargePage } from './pages/charge-page.ts';
export { confirmationPage } from './pages/confirmation-page.ts';
export { confirmedPage } from './pages/confirmed-page.ts';
export { type ConnectNotice, type ConnectView, connectPage } from './pages/connect-page.ts';
export { type CredentialNotice, credentialPage } from './pages/credential-page.ts';
export { dailyLimitPage } from './pages/daily-limit-page.ts';
export {
  dataPage,
  disconnectAllPage,
  disconnectedAllPage,
  erasedPage,
  erasePage,
  type RevokedView,
} from './pages/data-pages.ts';
export {
  credentialDeletedPage,
  deleteCredentialPage,
} from './pages/delete-credential-pages.ts';
export { type DeviceNotice, devicePage } from './pages/device-page.ts';
export {
  disconnectedPage,
  disconnectPage,
} from './pages/disconnect-pages.ts';
export { donePage } from './pages/done-page.ts';
export {
  declinedPage,
  endedPage,
  workingPage,
} from './pages/ended-pages.ts';
export {
  credentialDonePage,
  formDonePage,
} from './pages/entered-pages.ts';
export { type FormNotice, formPage } from './pages/form-page.ts';
export { type AnsweredAbout, historyPage, type PaidView } from './pages/history-page.ts';
export { leavingPage } from './pages/leaving-page.ts';
export { mcpServerPage, reportReasons } from './pages/mcp-server-page.ts';
export { type ConnectionView, mePage, openRequestsPage } from './pages/me-page.ts';
export {
  type AddPasskeyView,
  addPasskeyPage,
  passkeyRemovedPage,
  removePasskeyPage,
} from './pages/passkey-change-pages.ts';
export { passkeyPage } from './pages/passkey-page.ts';
export { passkeySignInPage } from './pages/passkey-sign-in-page.ts';
export { passkeyWaitPage } from './pages/passkey-wait-page.ts';
export { paymentDonePage } from './pages/payment-done-page.ts';
export { type PaymentNotice, paymentPage } from './pages/payment-page.ts';
export { receiptPage } from './pages/receipt-page.ts';
export {
  errorPage,
  noRequestPage,
  notFoundPage,
  wrongBrowserPage,
  wrongPersonPage,
} from './pages/refusal-pages.ts';
export { renamePasskeyPage } from './pages/rename-passkey-page.ts';
export {
  signedOutPage,
  signInAgainPage,
  signInFailedPage,
  signInPage,
} from './pages/sign-in-pages.ts';
export { accentFault, iconColour } from './palette.ts';
export type { RefundView } from './receipt-parts.ts';
export { scopeText } from './scope-texts.ts';
export { stylesheet } from './stylesheet.ts';
export { readTypedNumber, typedNumberText } from './typed-numbers.ts';
export type {
  Branding,
  ConnectedAccountView,
  LogoView,
  McpServerView,
  PageContext,
  PersonView,
  ProviderView,
  ScopeView,
} from './views.ts';
export type { WayBackView } from './way-back.ts';
