import type { Texts } from '../texts.ts';

export const endings: Texts<'endings'> = {
  'working.heading': 'إجابتك في الطريق',
  'working.text': 'يستغرق ذلك بضع ثوانٍ. لا حاجة إلى الإجابة مرة أخرى.',
  'working.reload': 'التحقق مرة أخرى',

  'declined.heading': 'رفضت الطلب',
  'declined.text': 'لم تتم مشاركة أي شيء مع {mcpServer}.',

  'expired.heading': 'انتهت صلاحية هذا الطلب',
  'expired.text': 'كان متاحًا لمدة محدودة فقط. إذا كنت ما زلت بحاجة إليه، فعُد إلى التطبيق الذي أتيت منه وابدأ من جديد.',

  'cancelled.heading': 'سُحب هذا الطلب',
  'cancelled.text': 'لم يعد {mcpServer} بحاجة إلى إجابة. يمكنك إغلاق هذه النافذة.',

  'failed.heading': 'تعذّر إكمال هذا الطلب',
  'failed.text': 'حدثت مشكلة أثناء المعالجة. عُد إلى التطبيق الذي أتيت منه وابدأ من جديد.',

  'notFound.heading': 'لا يوجد شيء هنا',
  'notFound.text':
    'قد يكون الرابط غير مكتمل أو لم يعد صالحًا. عُد إلى التطبيق الذي حصلت منه على الرابط واطلب رابطًا جديدًا.',

  'error.badRequest.heading': 'تعذّر فتح هذه الصفحة',
  'error.badRequest.text': 'جزء من العنوان مفقود أو تالف. افتح الرابط من تطبيقك مرة أخرى.',
  'error.forbidden.heading': 'أُوقفت هذه الخطوة',
  'error.forbidden.text':
    'لم نتمكّن من التأكد من أنها صادرة عنك. افتح الرابط من تطبيقك مرة أخرى واستخدم الأزرار الموجودة في الصفحة.',
  'error.tooManyRequests.heading': 'محاولات كثيرة في وقت قصير',
  'error.tooManyRequests.text': 'انتظر دقيقة ثم افتح الرابط من تطبيقك مرة أخرى.',
  'error.unavailable.heading': 'الخدمة غير متاحة حاليًا',
  'error.unavailable.text': 'انتظر بضع دقائق ثم افتح الرابط من تطبيقك مرة أخرى.',
  'error.internal.heading': 'حدث خطأ ما',
  'error.internal.text': 'الخطأ من جانبنا. افتح الرابط من تطبيقك مرة أخرى.',
  'error.requestId': 'عند طلب المساعدة، اذكر هذا الرقم',
};
