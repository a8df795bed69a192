/* What client/doc/platforms/android.md uses of the JNI. */
#ifndef DPOT_STAND_INS_JNI_H
#define DPOT_STAND_INS_JNI_H

#include <stdint.h>

#define JNIEXPORT
#define JNICALL
#define JNI_ABORT 2
typedef int32_t jint;
typedef int64_t jlong;
typedef int32_t jsize;
typedef int8_t jbyte;
typedef double jdouble;
typedef void *jobject;
typedef void *jbyteArray;
typedef void *jdoubleArray;

typedef const struct jni_functions *JNIEnv;
struct jni_functions {
    jsize (*GetArrayLength)(JNIEnv *env, void *array);
    jdouble *(*GetDoubleArrayElements)(JNIEnv *env, jdoubleArray array, uint8_t *is_copy);
    void (*ReleaseDoubleArrayElements)(JNIEnv *env, jdoubleArray array, jdouble *elems, jint mode);
    void (*GetByteArrayRegion)(JNIEnv *env, jbyteArray array, jsize start, jsize len, jbyte *buf);
};

#endif
