import type { AdminService } from '../admin/admin-service.ts';

type Returned<Verb extends keyof AdminService> = AdminService[Verb] extends (...args: never[]) => Promise<infer Value>
  ? NonNullable<Value>
  : never;
type Item<List> = List extends { readonly items: readonly (infer Each)[] } ? Each : never;

export type Counts = Returned<'counts'>;
export type Health = Returned<'health'>;
export type ElicitationItem = Item<Returned<'elicitations'>>;
export type ElicitationDetail = Returned<'elicitation'>;
export type ConnectionItem = Item<Returned<'connections'>>;
export type CredentialItem = Item<Returned<'credentials'>>;
export type PaymentItem = Item<Returned<'payments'>>;
export type AuditItem = Item<Returned<'audit'>>;
export type PersonReport = Returned<'person'>;
export type WebhookEndpointItem = Returned<'webhookEndpoints'>[number];
export type JobItem = Returned<'job'>;
export type DisconnectPlan = Returned<'planDisconnect'>;
export type DeadDeliveryItem = Returned<'deadDeliveries'>[number];
export type RetryingDeliveryItem = Returned<'retryingDeliveries'>[number];
export type FoundRecords = Returned<'find'>;
export type PaymentDetail = Returned<'payment'>;
export type TakenPayment = PaymentDetail['payments'][number];
export type RefundPlan = Returned<'planRefund'>;
