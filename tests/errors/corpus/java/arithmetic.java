public class Main {
    public static void main(String[] args) {
        int z = 0;
        System.out.println(1 / z);
    }
}
