import type { Texts } from '../texts.ts';

export const identity: Texts<'identity'> = {
  'signIn.heading': 'سجّل الدخول للمتابعة',
  'signIn.text': 'لدى أحد التطبيقات التي تستخدمها سؤال لك. سجّل الدخول كي تراه أنت وحدك.',
  'signIn.connections': 'بعد ذلك يمكنك معرفة حساباتك المرتبطة وإلغاء ربطها.',
  'signIn.continue': 'المتابعة إلى تسجيل الدخول',
  'signIn.choose': 'اختر الحساب الذي تستخدمه هنا لتطبيقاتك.',
  'signIn.with': 'تسجيل الدخول باستخدام {name}',

  'signInFailed.heading': 'تعذّر تسجيل الدخول',
  'signInFailed.text': 'لم تستجب خدمة تسجيل الدخول أو رفضت تسجيل الدخول. انتظر لحظة ثم أعد المحاولة.',
  'signInFailed.retry': 'إعادة المحاولة',

  'signInAgain.title': 'تسجيل الدخول من جديد',
  'signInAgain.heading': 'سجّل الدخول من جديد في {app}',
  'signInAgain.text':
    'تتطلب هذه الخطوة تسجيل دخول حديثًا. سجّل الدخول من جديد في {app}، وافتح رابطًا من هناك، ثم عُد إلى هذه الصفحة خلال خمس دقائق.',

  'signedOut.heading': 'تم تسجيل خروجك',
  'signedOut.text': 'يمكنك إغلاق هذه النافذة.',
  'signedOut.elsewhere': 'ربما لا تزال مسجّلًا الدخول في {host}.',
  'signedOut.there': 'تسجيل الخروج من هناك أيضًا',

  'wrongPerson.heading': 'هذا الطلب موجّه إلى حساب آخر',
  'wrongPerson.text':
    'إذا كان لديك حساب آخر، فسجّل الدخول به. إذا أرسل إليك شخص آخر هذا الرابط، فأغلق هذه النافذة. لم تتم مشاركة أي شيء.',
  'wrongPerson.switchAccount': 'استخدام حساب آخر',

  'wrongBrowser.heading': 'بدأت هذه العملية في متصفح آخر',
  'wrongBrowser.text': 'أُوقفت العملية هنا لحمايتك. لم يتم ربط أي حساب.',
  'wrongBrowser.next':
    'إذا كنت أنت من بدأها، فعُد إلى تطبيقك وابدأ من جديد. إذا أرسل إليك شخص آخر رابطًا، فأغلق هذه النافذة.',
};
